-- One row per start of a job whose step lines print a rate of floating-point operations or a utilisation.
-- needs: step, _stream, launch, _steady
-- gid: number of the start over all jobs
-- mflops: median rate of one GPU in millions of operations a second; the job's where the start prints fewer than three
-- mfu_ppm: median utilisation printed, in millionths of the peak that the program believes; the job's where the start prints fewer than three
-- steady_us: what one step takes when nothing else goes on: the median of what the rates were printed for
-- A rate times its time is the work of a step, the same for each line: so are the median rate times the median time.
WITH told AS (
  -- beyond a hundred PFLOP a second, or the peak itself, nothing is believed
  SELECT l.gid, l.gid - l.k AS jid, CASE WHEN t.mflops BETWEEN 1 AND 100000000000 THEN t.mflops END AS mflops,
    CASE WHEN t.mfu_ppm BETWEEN 1 AND 1000000 THEN t.mfu_ppm END AS mfu_ppm
  FROM step AS t JOIN _stream AS s ON s.key = t.key JOIN launch AS l ON l.stream = s.stream AND l.launch = t.launch + s.launches_before
  WHERE t.mflops IS NOT NULL OR t.mfu_ppm IS NOT NULL
),
own AS (
  SELECT gid, median(mflops) AS mflops, count(mflops) AS rates, median(mfu_ppm) AS mfu_ppm, count(mfu_ppm) AS shares FROM told GROUP BY gid
),
whole AS (
  SELECT jid, median(mflops) AS mflops, count(mflops) AS rates, median(mfu_ppm) AS mfu_ppm, count(mfu_ppm) AS shares FROM told GROUP BY jid
)
SELECT l.gid, CAST(round_even(CASE WHEN o.rates >= 3 THEN o.mflops WHEN w.rates >= 3 THEN w.mflops END, 0) AS BIGINT) AS mflops,
  CAST(round_even(CASE WHEN o.shares >= 3 THEN o.mfu_ppm WHEN w.shares >= 3 THEN w.mfu_ppm END, 0) AS BIGINT) AS mfu_ppm, a.steady_us
FROM (SELECT DISTINCT gid, gid - k AS jid FROM launch) AS l JOIN whole AS w ON w.jid = l.jid
LEFT JOIN own AS o ON o.gid = l.gid
LEFT JOIN _steady AS a ON a.gid = l.gid
