-- One row per step line of a pass whose samples fall from one line to the next.
-- needs: _line, _pass
-- gid: number of the start over all jobs
-- pass: 0, and one more each time the loop went back inside the process
-- step: step printed
-- samples: most samples consumed before, inside the pass
SELECT l.gid, l.pass, l.step, max(l.samples) OVER (PARTITION BY l.gid, l.pass ORDER BY l.step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS samples
FROM _line AS l JOIN _pass AS r ON r.gid = l.gid AND r.pass = l.pass
WHERE r.uneven AND l.at_us IS NOT NULL
