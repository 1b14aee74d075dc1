-- One row per attempt that a scheduler recorded, and the job it belongs to by what rule.
-- needs: _single, source, _stream, launch, name_fact, setting
-- no: number of the attempt
-- job: job of the trainer's logs; null where none belongs to it
-- rule: how it belongs to the job; null where it belongs to none
-- log: path of a log that names it
WITH single AS (
  SELECT *, row_number() OVER (PARTITION BY at_cluster, raw ORDER BY submit_us, start_us, no) AS attempt,
    regexp_replace(path, '[^/]*$', '') AS folder
  FROM _single
),
logged AS (
  SELECT s.allocation, s.cluster, l.job, min(s.allocation_by) AS rule, min(s.path) AS path
  FROM launch AS l JOIN _stream AS c ON c.stream = l.stream JOIN source AS s ON s.key = c.key
  WHERE s.allocation IS NOT NULL
  GROUP BY s.allocation, s.cluster, l.job
),
by_id AS (
  SELECT a.no, g.job, min(CASE WHEN a.attempt > 1 THEN 'requeue chain' WHEN a.id <> a.raw AND a.id LIKE '%\_%' ESCAPE '\' THEN 'array'
    ELSE coalesce(g.rule, 'line') END) AS rule, min(g.path) AS log
  FROM single AS a JOIN logged AS g ON (g.allocation = a.raw OR g.allocation = a.id)
    AND coalesce(g.cluster, a.at_cluster, '') = coalesce(a.at_cluster, g.cluster, '')
  GROUP BY a.no, g.job
),
names AS (
  -- what the scheduler calls a job may be what the logs call it, as it is or by the configured rules
  SELECT name, job_name FROM name_fact WHERE job_name <> name OR job_name IN (SELECT job FROM launch)
),
known AS (
  SELECT a.no, coalesce(b.job, n.job_name) AS job,
    coalesce(b.rule, CASE WHEN n.name IS NULL THEN NULL WHEN n.job_name = n.name THEN 'job name' ELSE 'name rule' END) AS rule, b.log
  FROM single AS a LEFT JOIN by_id AS b ON b.no = a.no LEFT JOIN names AS n ON n.name = a.name AND b.job IS NULL
),
-- a scheduler's file kept beside a log tells of it where one job alone holds hardware around all lines of the only such log
alone AS (
  SELECT a.folder, a.id, min(a.start_us) AS start_us, CASE WHEN count(a.end_us) = count(*) THEN max(a.end_us) END AS end_us
  FROM single AS a JOIN known AS k ON k.no = a.no
  WHERE k.job IS NULL AND a.start_us IS NOT NULL AND (SELECT value FROM setting WHERE name = 'joins.beside') = 'true'
  GROUP BY a.folder, a.id
),
written AS (
  SELECT l.job, regexp_replace(c.path, '[^/]*$', '') AS folder, min(l.first_us) AS first_us, max(l.last_us) AS last_us
  FROM launch AS l JOIN _stream AS c ON c.stream = l.stream
  -- a log that names an allocation is of no other one
  WHERE l.job NOT IN (SELECT job FROM known WHERE job IS NOT NULL) AND l.job NOT IN (SELECT job FROM logged)
  GROUP BY l.job, regexp_replace(c.path, '[^/]*$', '')
),
around AS (
  SELECT w.job, a.id, a.folder, count(*) OVER (PARTITION BY w.job) AS ids, count(*) OVER (PARTITION BY a.folder, a.id) AS jobs
  FROM written AS w JOIN alone AS a ON a.folder = w.folder
    AND w.first_us >= a.start_us - 60000000 AND (a.end_us IS NULL OR w.last_us <= a.end_us + 60000000)
)
SELECT a.no, coalesce(k.job, r.job) AS job, coalesce(k.rule, CASE WHEN r.job IS NOT NULL THEN 'beside the log' END) AS rule, k.log
FROM single AS a
LEFT JOIN known AS k ON k.no = a.no
LEFT JOIN around AS r ON k.job IS NULL AND r.folder = a.folder AND r.id = a.id AND r.ids = 1 AND r.jobs = 1
