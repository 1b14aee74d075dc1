-- One row per step line and nature of its steps: replayed first, then new, then new and lost.
-- needs: _work
-- gid: number of the start over all jobs
-- nature: replay, step, abandoned
-- begin_us: the piece begins
-- end_us: the piece ends
-- pass: 0, and one more each time the loop went back inside the process
-- first_step: first step
-- last_step: last step
-- dated: whether the instant was printed
-- unsure: whether the steps may be of another nature
-- no: number of the source
-- line: line number in the source
WITH cut AS (
  SELECT *, work_us + (end_us - work_us) * replayed // covered AS replayed_us,
    work_us + (end_us - work_us) * (covered - lost) // covered AS kept_us
  FROM _work
)
SELECT gid, 'replay' AS nature, work_us AS begin_us, replayed_us AS end_us, pass, first_step,
  first_step + replayed - 1 AS last_step, dated, FALSE AS unsure, no, line
FROM cut WHERE replayed > 0
UNION ALL
SELECT gid, 'step', replayed_us, kept_us, pass, first_step + replayed, step - lost, dated, unsure, no, line
FROM cut WHERE covered > replayed + lost
UNION ALL
SELECT gid, 'abandoned', kept_us, end_us, pass, step - lost + 1, step, dated, unsure, no, line
FROM cut WHERE lost > 0
