-- One row per stretch of steps of one nature without a pause between them.
-- needs: _piece, _placed, _stream
-- job: job
-- k: number of the start in its job
-- nature: step (new data), replay (at or below the high-water mark), abandoned (new, but lost with a job that never came back)
-- begin_us: the stretch begins
-- end_us: the stretch ends
-- first_step: first step
-- last_step: last step
-- steps: number of steps
-- inferred: whether some instant in it was not printed, or its steps may have been made before, in a start whose logs break off
-- evidence: path and line of the first step line
WITH follows AS (
  SELECT *, CASE WHEN nature = lag(nature) OVER w AND pass = lag(pass) OVER w AND begin_us = lag(end_us) OVER w
    AND unsure = lag(unsure) OVER w THEN 0 ELSE 1 END AS opens
  FROM _piece
  WINDOW w AS (PARTITION BY gid ORDER BY pass, first_step)
),
numbered AS (
  SELECT *, sum(opens) OVER (PARTITION BY gid ORDER BY pass, first_step ROWS UNBOUNDED PRECEDING) AS nth FROM follows
),
stretch AS (
  SELECT gid, nth, min(nature) AS nature, min(begin_us) AS begin_us, max(end_us) AS end_us, min(first_step) AS first_step,
    max(last_step) AS last_step, CAST(sum(last_step - first_step + 1) AS BIGINT) AS steps, NOT bool_and(dated) OR bool_or(unsure) AS inferred,
    min_by(no, first_step) AS no, min_by(line, first_step) AS line
  FROM numbered
  GROUP BY gid, nth
)
SELECT p.job, p.k, s.nature, s.begin_us, s.end_us, s.first_step, s.last_step, s.steps, s.inferred,
  c.path || ':' || CAST(s.line AS VARCHAR) AS evidence
FROM stretch AS s
JOIN _placed AS p ON p.gid = s.gid
JOIN _stream AS c ON c.no = s.no
