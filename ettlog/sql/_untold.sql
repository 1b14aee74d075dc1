-- One row per step line of which nobody knows how much of its time a save took.
-- needs: _line, mark
-- gid: number of the start over all jobs
-- pass: 0, and one more each time the loop went back inside the process
-- step: step printed
-- Of the save before it only the end is told, so that it is not known when it was asked for; or the line came sooner behind the save
-- than its own duration says, or the next line did, so that its stamp may be another line's.
WITH saved AS (
  SELECT gid, step, bool_or(kind IN ('save_request', 'save_blocking')) AS asked
  FROM mark
  WHERE kind IN ('save_request', 'save_blocking', 'save_staged', 'save_written', 'save_commit') AND step IS NOT NULL
  GROUP BY gid, step
),
headless AS (
  SELECT gid, step FROM saved
  -- some trainers never say that a save begins
  WHERE NOT asked AND gid IN (SELECT gid FROM saved WHERE asked)
),
behind AS (
  SELECT l.gid, l.pass, l.step, l.total_us > l.at_us - l.before_us + 1000000 AS soon
  FROM _line AS l JOIN saved AS s ON s.gid = l.gid AND s.step = l.step - l.covered AND s.asked
  WHERE l.goes_on
)
SELECT DISTINCT gid, pass, step FROM (
  SELECT h.gid, l.pass, min(l.step) AS step
  FROM headless AS h JOIN _line AS l ON l.gid = h.gid AND l.step > h.step
  GROUP BY h.gid, h.step, l.pass
) AS next
UNION
SELECT gid, pass, step FROM behind WHERE soon
UNION
SELECT b.gid, b.pass, b.step
FROM behind AS b JOIN _line AS n ON n.gid = b.gid AND n.pass = b.pass AND n.step - n.covered = b.step
WHERE n.goes_on AND n.total_us > n.at_us - n.before_us + 1000000
