-- One row per job: one logical training run, however many times it was restarted.
-- needs: _wall, _placed, _start, _held, segment
-- job: job
-- model: model the job trains
-- cluster: cluster
-- platform: platform
-- gpus: most GPUs held, else the largest world size
-- submit_us: first submission, where the scheduler tells
-- first_us: the wall begins
-- last_us: the wall ends
-- starts: number of starts
-- nof: number of failures: recoveries, from failures and preemptions
-- failures: starts made because the one before failed, was killed or lost a node
-- preemptions: starts made because the one before was preempted
-- planned: starts made after a planned end
-- open: whether the job may still be running; it is clipped at the newest instant of the snapshot
-- end_state: how the last start ended
-- wall_us: wall time
-- allocated_us: wall time with hardware held
-- effective_us: time that consumed new data
-- ett: effective time by allocated wall time; null without one
WITH came AS (
  SELECT p.job, min(p.model) AS model, min(p.cluster) AS cluster, min(p.platform) AS platform, max(p.gpus) AS gpus, count(*) AS starts,
    count(CASE WHEN s.kind = 'failure' THEN 1 END) AS failures, count(CASE WHEN s.kind = 'preemption' THEN 1 END) AS preemptions,
    count(CASE WHEN s.kind = 'planned' THEN 1 END) AS planned, bool_or(s.open) AS open,
    max(CASE WHEN s.final THEN s.end_state END) AS end_state
  FROM _placed AS p JOIN _start AS s ON s.job = p.job AND s.k = p.k
  GROUP BY p.job
),
ended AS (
  SELECT job, end_state, row_number() OVER (PARTITION BY job ORDER BY coalesce(from_us, submit_us) DESC, to_us DESC, raw, end_state) AS nth
  FROM _held WHERE end_state IS NOT NULL AND coalesce(from_us, submit_us) IS NOT NULL
),
asked AS (
  SELECT job, min(submit_us) AS submit_us, max(gpus) AS gpus, min(cluster) AS cluster, bool_or(open) AS open
  FROM _held GROUP BY job
),
spent AS (
  SELECT job, CAST(sum(end_us - begin_us) AS BIGINT) AS wall_us,
    CAST(sum(CASE WHEN allocated THEN end_us - begin_us ELSE 0 END) AS BIGINT) AS allocated_us,
    CAST(sum(CASE WHEN component = 'effective_training' THEN end_us - begin_us ELSE 0 END) AS BIGINT) AS effective_us
  FROM segment GROUP BY job
)
SELECT w.job, c.model, coalesce(c.cluster, a.cluster) AS cluster, c.platform, coalesce(a.gpus, c.gpus) AS gpus, a.submit_us,
  w.begin_us AS first_us, w.end_us AS last_us, coalesce(c.starts, 0) AS starts,
  coalesce(c.failures + c.preemptions, 0) AS nof, coalesce(c.failures, 0) AS failures, coalesce(c.preemptions, 0) AS preemptions,
  coalesce(c.planned, 0) AS planned, coalesce(c.open, FALSE) OR coalesce(a.open, FALSE) AS open,
  coalesce(c.end_state, e.end_state) AS end_state, coalesce(t.wall_us, 0) AS wall_us, coalesce(t.allocated_us, 0) AS allocated_us,
  coalesce(t.effective_us, 0) AS effective_us,
  CAST(t.effective_us AS DOUBLE) / CAST(nullif(t.allocated_us, 0) AS DOUBLE) AS ett
FROM _wall AS w
LEFT JOIN came AS c ON c.job = w.job
LEFT JOIN asked AS a ON a.job = w.job
LEFT JOIN ended AS e ON e.job = w.job AND e.nth = 1
LEFT JOIN spent AS t ON t.job = w.job
