-- One row per step line behind which nothing explains the time up to the next one: it may carry the stamp of a line that it broke into.
-- needs: _work, mark, lifecycle_kind, lifecycle_part
-- gid: number of the start over all jobs
-- pass: 0, and one more each time the loop went back inside the process
-- step: last step of the line
WITH pause AS (
  SELECT gid, pass, first_step - 1 AS step, covered, before_us, begin_us FROM _work WHERE begin_us > before_us
),
held AS (
  SELECT m.gid, m.at_us FROM mark AS m JOIN lifecycle_kind AS k ON k.kind = m.kind JOIN lifecycle_part AS p ON p.part = k.part
  WHERE k.edge = 'begin' AND m.at_us IS NOT NULL AND (p.component <> 'trainer_init' OR k.part = 'restore')
)
-- what begins there holds the loop; another rank's clock may tell it up to five seconds before the step's own line. Behind a line of one
-- step it begins with it: a silence before it is not explained by what comes then
SELECT p.gid, p.pass, p.step
FROM pause AS p LEFT JOIN held AS h ON h.gid = p.gid AND h.at_us >= p.before_us - 5000000 AND h.at_us < p.begin_us
  AND (p.covered > 1 OR h.at_us <= p.before_us + 5000000)
WHERE h.gid IS NULL
GROUP BY p.gid, p.pass, p.step
