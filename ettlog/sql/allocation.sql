-- One row per allocation of a job, or request for one: what the scheduler recorded.
-- needs: _told, source, _stream, launch, name_fact
-- job: job; the scheduler's id where no trainer log belongs to it
-- cluster: cluster, where known
-- id: job id as printed
-- raw: plain job id, or another key of the attempt
-- submit_us: submission in microseconds since 1970 UTC
-- eligible_us: the job could have started
-- start_us: hardware was given; null when it never was, or when nothing tells
-- ready_us: the job's own processes ran: containers up, prolog done
-- end_us: hardware was given back; null while it is held
-- elapsed_us: time held as printed
-- clock: how the instants were had; relative ones count from the start of a trace
-- state: state as the scheduler wrote it
-- reason: reason as written
-- gpus: GPUs held
-- gpu_milli: GPUs held in thousandths, where they are a share or a number that is known
-- nodes: nodes held
-- evidence: path and line of the record, with a note where it belongs to the job by an inference
WITH kept AS (
  SELECT *, coalesce(start_us, max(start_us) OVER (PARTITION BY at_cluster, raw, submit_us)) AS begun_us
  FROM _told
),
latest AS (
  SELECT *, row_number() OVER (PARTITION BY at_cluster, raw, submit_us, begun_us,
      -- records without any instant cannot be told from repeats: all are kept
      CASE WHEN submit_us IS NULL AND begun_us IS NULL THEN path || CAST(line AS VARCHAR) END
    ORDER BY CASE WHEN end_us IS NULL THEN 1 ELSE 0 END, CASE WHEN start_us IS NULL THEN 1 ELSE 0 END, end_us DESC, path, line) AS nth
  FROM kept
),
single AS (
  SELECT *, row_number() OVER (ORDER BY path, line, raw, submit_us, start_us) AS no, regexp_replace(path, '[^/]*$', '') AS folder
  FROM latest WHERE nth = 1
),
logged AS (
  SELECT DISTINCT s.allocation, s.cluster, l.job
  FROM launch AS l JOIN _stream AS c ON c.stream = l.stream JOIN source AS s ON s.key = c.key
  WHERE s.allocation IS NOT NULL
),
by_id AS (
  SELECT DISTINCT a.no, g.job
  FROM single AS a JOIN logged AS g ON (g.allocation = a.raw OR g.allocation = a.id)
    AND coalesce(g.cluster, a.at_cluster, '') = coalesce(a.at_cluster, g.cluster, '')
),
names AS (
  -- what the scheduler calls a job may be what the logs call it, as it is or by the configured rules
  SELECT name, job_name FROM name_fact WHERE job_name <> name OR job_name IN (SELECT job FROM launch)
),
known AS (
  SELECT a.no, coalesce(b.job, n.job_name) AS job
  FROM single AS a LEFT JOIN by_id AS b ON b.no = a.no LEFT JOIN names AS n ON n.name = a.name AND b.job IS NULL
),
-- a scheduler's file kept beside a log tells of it where one job alone holds hardware around all lines of the only such log
alone AS (
  SELECT a.folder, a.id, min(a.start_us) AS start_us, CASE WHEN count(a.end_us) = count(*) THEN max(a.end_us) END AS end_us
  FROM single AS a JOIN known AS k ON k.no = a.no
  WHERE k.job IS NULL AND a.start_us IS NOT NULL
  GROUP BY a.folder, a.id
),
written AS (
  SELECT l.job, regexp_replace(c.path, '[^/]*$', '') AS folder, min(l.first_us) AS first_us, max(l.last_us) AS last_us
  FROM launch AS l JOIN _stream AS c ON c.stream = l.stream
  WHERE l.job NOT IN (SELECT job FROM known WHERE job IS NOT NULL)
  GROUP BY l.job, regexp_replace(c.path, '[^/]*$', '')
),
around AS (
  SELECT w.job, a.id, a.folder, count(*) OVER (PARTITION BY w.job) AS ids, count(*) OVER (PARTITION BY a.folder, a.id) AS jobs
  FROM written AS w JOIN alone AS a ON a.folder = w.folder
    AND w.first_us >= a.start_us - 60000000 AND (a.end_us IS NULL OR w.last_us <= a.end_us + 60000000)
),
clusters AS (
  SELECT id, count(DISTINCT at_cluster) AS clusters FROM single GROUP BY id
)
SELECT
  coalesce(k.job, r.job, CASE WHEN c.clusters > 1 THEN a.at_cluster || '/' || a.id ELSE coalesce(a.id, a.raw) END) AS job,
  a.at_cluster AS cluster, coalesce(a.id, a.raw) AS id, a.raw, a.submit_us, a.eligible_us, a.start_us, a.ready_us, a.end_us,
  a.elapsed_us, a.clock, a.state, a.reason,
  coalesce(a.gpus, CASE WHEN a.start_us IS NULL THEN a.gpus_requested END) AS gpus, coalesce(a.gpu_milli, 1000 * a.gpus) AS gpu_milli, a.nodes,
  a.path || ':' || CAST(a.line AS VARCHAR) || CASE WHEN r.job IS NOT NULL THEN ' (beside the log)' ELSE '' END AS evidence
FROM single AS a
LEFT JOIN known AS k ON k.no = a.no
LEFT JOIN around AS r ON k.job IS NULL AND r.folder = a.folder AND r.id = a.id AND r.ids = 1 AND r.jobs = 1
LEFT JOIN clusters AS c ON c.id = a.id
