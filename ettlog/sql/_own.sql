-- One row per attempt and job it belongs to, jobs without a trainer's log included.
-- needs: _single, _joined, setting
-- no: number of the attempt
-- job: job; the scheduler's id where no trainer log belongs to it
-- rule: how it belongs to the job; null where the job is the scheduler's id
-- log: path of a log that names it
-- Jobs of one name and cluster, one after the other and none of them completed but the last, are one where that is asked for.
WITH clusters AS (
  SELECT id, count(DISTINCT at_cluster) AS clusters FROM _single GROUP BY id
),
each AS (
  SELECT a.no, a.at_cluster, a.name, a.state, a.submit_us, a.start_us, a.end_us, j.job, j.rule, j.log,
    CASE WHEN c.clusters > 1 THEN a.at_cluster || '/' || a.id ELSE coalesce(a.id, a.raw) END AS id
  FROM _single AS a LEFT JOIN _joined AS j ON j.no = a.no LEFT JOIN clusters AS c ON c.id = a.id
),
asked AS (
  SELECT *, coalesce(start_us, submit_us) AS at_us FROM each
  WHERE name IS NOT NULL AND (SELECT value FROM setting WHERE name = 'joins.job_name') = 'always'
),
broken AS (
  SELECT *, CASE WHEN id = lag(id) OVER w THEN 0
    WHEN upper(lag(state) OVER w) IN ('COMPLETED', 'COMPLETE', 'SUCCEEDED', 'PASS', 'DONE') OR lag(end_us) OVER w IS NULL THEN 1
    WHEN at_us < max(end_us) OVER (PARTITION BY at_cluster, name ORDER BY at_us, no ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 1
    ELSE 0 END AS opens
  FROM asked
  WINDOW w AS (PARTITION BY at_cluster, name ORDER BY at_us, no)
),
numbered AS (
  SELECT *, sum(opens) OVER (PARTITION BY at_cluster, name ORDER BY at_us, no ROWS UNBOUNDED PRECEDING) AS run FROM broken
),
family AS (
  SELECT no, first_value(id) OVER w AS first_id, min(job) OVER w AS known
  FROM numbered
  WINDOW w AS (PARTITION BY at_cluster, name, run ORDER BY at_us, no ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
SELECT e.no, coalesce(e.job, f.known, f.first_id, e.id) AS job,
  coalesce(e.rule, CASE WHEN coalesce(f.known, f.first_id) <> e.id THEN 'resubmitted' END) AS rule, e.log
FROM each AS e LEFT JOIN family AS f ON f.no = e.no
