-- One row per allocation of a job, or request for one: what the scheduler recorded.
-- needs: alloc, source, _stream, launch, name_fact
-- job: job; the scheduler's id where no trainer log belongs to it
-- cluster: cluster, where known
-- id: job id as printed
-- raw: plain job id
-- submit_us: submission in microseconds since 1970 UTC
-- eligible_us: the job could have started
-- start_us: hardware was given; null when it never was
-- end_us: hardware was given back; null while it is held
-- state: state as the scheduler wrote it
-- gpus: GPUs held
-- nodes: nodes held
-- evidence: path and line of the record
WITH kept AS (
  SELECT a.*, coalesce(a.cluster, s.cluster) AS at_cluster, s.path,
    coalesce(a.start_us, max(a.start_us) OVER (PARTITION BY coalesce(a.cluster, s.cluster), a.raw, a.submit_us)) AS begun_us
  FROM alloc AS a JOIN source AS s ON s.key = a.key
  WHERE a.record = 'job'
),
latest AS (
  SELECT *, row_number() OVER (PARTITION BY at_cluster, raw, submit_us, begun_us,
      -- records without any instant cannot be told from repeats: all are kept
      CASE WHEN submit_us IS NULL AND begun_us IS NULL THEN path || CAST(line AS VARCHAR) END
    ORDER BY CASE WHEN end_us IS NULL THEN 1 ELSE 0 END, CASE WHEN start_us IS NULL THEN 1 ELSE 0 END, end_us DESC, path, line) AS nth
  FROM kept
),
single AS (
  SELECT * FROM latest WHERE nth = 1
),
logged AS (
  SELECT DISTINCT s.allocation, s.cluster, l.job
  FROM launch AS l JOIN _stream AS c ON c.stream = l.stream JOIN source AS s ON s.key = c.key
  WHERE s.allocation IS NOT NULL
),
by_id AS (
  SELECT DISTINCT a.key, a.line, g.job
  FROM single AS a JOIN logged AS g ON (g.allocation = a.raw OR g.allocation = a.id)
    AND coalesce(g.cluster, a.at_cluster, '') = coalesce(a.at_cluster, g.cluster, '')
),
names AS (
  -- what the scheduler calls a job may be what the logs call it, as it is or by the configured rules
  SELECT name, job_name FROM name_fact WHERE job_name <> name OR job_name IN (SELECT job FROM launch)
),
clusters AS (
  SELECT id, count(DISTINCT at_cluster) AS clusters FROM single GROUP BY id
)
SELECT
  coalesce(b.job, n.job_name, CASE WHEN c.clusters > 1 THEN a.at_cluster || '/' || a.id ELSE coalesce(a.id, a.raw) END) AS job,
  a.at_cluster AS cluster, coalesce(a.id, a.raw) AS id, a.raw, a.submit_us, a.eligible_us, a.start_us, a.end_us, a.state,
  coalesce(a.gpus, CASE WHEN a.start_us IS NULL THEN a.gpus_requested END) AS gpus, a.nodes,
  a.path || ':' || CAST(a.line AS VARCHAR) AS evidence
FROM single AS a
LEFT JOIN by_id AS b ON b.key = a.key AND b.line = a.line
LEFT JOIN names AS n ON n.name = a.name AND b.job IS NULL
LEFT JOIN clusters AS c ON c.id = a.id
