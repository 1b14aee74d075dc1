-- One row per start with steps: what one step takes when nothing else goes on.
-- needs: _line
-- job: job
-- k: number of the start in its job
-- steady_us: median duration of a step without the first line; the job's where the start has fewer than three; null where that has too
-- lines: step lines of the start
WITH each AS (
  SELECT job, k, opens, coalesce(total_us, at_us - before_us) // covered AS step_us FROM _line
),
own AS (
  SELECT job, k, count(*) AS lines, median(CASE WHEN NOT opens THEN step_us END) AS middle,
    count(CASE WHEN NOT opens THEN step_us END) AS timed
  FROM each GROUP BY job, k
),
whole AS (
  SELECT job, median(step_us) AS middle, count(step_us) AS timed FROM each WHERE NOT opens GROUP BY job
)
SELECT o.job, o.k, CAST(CASE WHEN o.timed >= 3 THEN o.middle WHEN w.timed >= 3 THEN w.middle END AS BIGINT) AS steady_us, o.lines
FROM own AS o
LEFT JOIN whole AS w ON w.job = o.job
