-- One row per step line and nature of its steps: replayed first, then new, then new and lost.
-- needs: _work
-- gid: number of the start over all jobs
-- nature: replay, step, abandoned
-- before_us: the piece before it in the pass ends; null of the first
-- begin_us: the piece begins
-- end_us: the piece ends
-- pass: 0, and one more each time the loop went back inside the process
-- first_step: first step
-- last_step: last step
-- dated: whether the instant was printed
-- unsure: whether the steps may be of another nature
-- no: number of the source
-- line: line number in the source
SELECT gid, 'replay' AS nature, before_us, work_us AS begin_us, work_us + (end_us - work_us) // covered * replayed + (end_us - work_us) % covered * replayed // covered AS end_us, pass, first_step,
  first_step + replayed - 1 AS last_step, dated, FALSE AS unsure, no, line
FROM _work WHERE replayed > 0
UNION ALL
SELECT gid, 'step', CASE WHEN replayed > 0 THEN work_us + (end_us - work_us) // covered * replayed + (end_us - work_us) % covered * replayed // covered ELSE before_us END,
  work_us + (end_us - work_us) // covered * replayed + (end_us - work_us) % covered * replayed // covered, work_us + (end_us - work_us) // covered * (covered - lost) + (end_us - work_us) % covered * (covered - lost) // covered, pass,
  first_step + replayed, step - lost, dated, unsure, no, line
FROM _work WHERE covered > replayed + lost
UNION ALL
SELECT gid, 'abandoned', CASE WHEN replayed > 0 OR covered > lost THEN work_us + (end_us - work_us) // covered * (covered - lost) + (end_us - work_us) % covered * (covered - lost) // covered ELSE before_us END,
  work_us + (end_us - work_us) // covered * (covered - lost) + (end_us - work_us) % covered * (covered - lost) // covered, end_us, pass, step - lost + 1, step, dated, unsure, no, line
FROM _work WHERE lost > 0
