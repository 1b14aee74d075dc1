-- One row per start with steps: what one step takes when nothing else goes on.
-- needs: _line
-- gid: number of the start over all jobs
-- steady_us: median duration of a step without the first line; the job's where the start has fewer than three; null where that has too
-- lines: step lines of the start
WITH each AS (
  SELECT gid, jid, opens, coalesce(total_us, at_us - before_us) // covered AS step_us FROM _line
),
own AS (
  SELECT gid, jid, count(*) AS lines, median(CASE WHEN NOT opens THEN step_us END) AS middle,
    count(CASE WHEN NOT opens THEN step_us END) AS timed
  FROM each GROUP BY gid, jid
),
whole AS (
  SELECT jid, median(step_us) AS middle, count(step_us) AS timed FROM each WHERE NOT opens GROUP BY jid
)
SELECT o.gid, CAST(round_even(CASE WHEN o.timed >= 3 AND o.middle <= 864000000000 THEN o.middle WHEN w.timed >= 3 AND w.middle <= 864000000000 THEN w.middle END, 0) AS BIGINT) AS steady_us, o.lines
FROM own AS o
LEFT JOIN whole AS w ON w.jid = o.jid
