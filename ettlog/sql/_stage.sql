-- One row per instant from which a job is in another stage of its life.
-- needs: _phase, _start, _placed, _wall, _held, _wait
-- job: job
-- at_us: the stage begins; never before the one before it
-- start: number of the start the stage belongs to; null where the job has none
-- stage: first_start, restart, recovery, steady, shutdown
-- gpus: GPUs of the allocation, else the world size
-- nth: order of stages that begin at one instant
WITH start AS (
  SELECT h.*, s.kind, s.end_state, p.gpus, p.held_from_us, lead(s.kind) OVER w AS next_kind, lag(coalesce(h.progress_us, h.stop_us)) OVER w AS broke_us,
    lag(h.done_us) OVER w AS done_before_us
  FROM _phase AS h
  JOIN _start AS s ON s.job = h.job AND s.k = h.k
  JOIN _placed AS p ON p.job = h.job AND p.k = h.k
  WINDOW w AS (PARTITION BY h.job ORDER BY h.k)
),
point AS (
  SELECT job, CASE WHEN kind IN ('failure', 'preemption') THEN broke_us ELSE done_before_us END AS at_us, k AS start,
    CASE WHEN kind = 'first' THEN 'first_start' WHEN kind IN ('failure', 'preemption') THEN 'recovery' ELSE 'restart' END AS stage,
    gpus, 1 AS place
  FROM start
  UNION ALL
  -- steps that nobody tells of were made before the first line of a log that was cut: where start-up ended in it is not known
  SELECT job, CASE WHEN headless THEN held_from_us ELSE new_us END, k, 'steady', gpus, 2 FROM start WHERE new_us IS NOT NULL
  UNION ALL
  SELECT job, CASE WHEN end_state = 'completed' THEN CASE WHEN step_end_us IS NOT NULL THEN stop_us ELSE loop_us END ELSE coalesce(step_end_us, stop_us) END, k,
    'shutdown', gpus, 3
  FROM start WHERE next_kind IS NULL OR next_kind NOT IN ('failure', 'preemption')
  UNION ALL
  SELECT job, coalesce(submit_us, from_us), NULL, 'first_start', gpus, 1 FROM _held WHERE job NOT IN (SELECT job FROM _phase)
  UNION ALL
  SELECT h.job, coalesce(w.end_us, h.from_us), NULL, 'steady', h.gpus, 2
  FROM _held AS h LEFT JOIN _wait AS w ON w.job = h.job AND w.part = 'placement' AND w.begin_us = h.from_us
  WHERE h.from_us IS NOT NULL AND h.job NOT IN (SELECT job FROM _phase)
),
placed AS (
  SELECT p.job, p.start, p.stage, p.gpus, p.place, greatest(coalesce(p.at_us, w.begin_us), w.begin_us) AS at_us, w.begin_us
  FROM point AS p JOIN _wall AS w ON w.job = p.job
)
SELECT job, max(at_us) OVER w AS at_us, start, stage, gpus, row_number() OVER w AS nth
FROM placed
WHERE begin_us IS NOT NULL
WINDOW w AS (PARTITION BY job ORDER BY coalesce(start, 0), CASE WHEN start IS NULL THEN at_us ELSE 0 END, place, stage, gpus ROWS UNBOUNDED PRECEDING)
