-- One row per attempt that is made of tasks: pods, or tasks of a trace, which hold hardware of their own.
-- needs: alloc, source
-- key: content key of the source
-- path: path of the file
-- line: line of its first record
-- at_cluster: cluster, where known
-- partition: partition or name space
-- id: job id as printed
-- raw: key of the attempt
-- name: job name
-- state: state of the tasks
-- reason: reason as written
-- submit_us: first submission
-- start_us: the first task held hardware; null where none did
-- ready_us: the first task's own processes ran
-- end_us: the last task gave its hardware back
-- clock: how the instants were had
-- nodes: nodes held
-- gpus: GPUs held, the most at once
-- gpus_requested: GPUs asked for
-- exit_code: exit code
-- exit_signal: signal that ended it
-- gpu_milli: GPUs held in thousandths, the most at once
-- next_us: the next attempt of the job begins
-- starts: attempts of the job that held hardware
-- nth: position among the attempts of the job, from the last
-- Tasks that hold hardware at the same time are one attempt.
WITH newest AS (
  SELECT a.*, coalesce(a.cluster, s.cluster) AS at_cluster, s.path, coalesce(CASE WHEN a.gpu_milli <= 1000000000 THEN a.gpu_milli END, CASE WHEN a.gpus <= 1000000 THEN 1000 * a.gpus END) AS milli,
    coalesce(a.cluster, s.cluster, '') || '/' || coalesce(a.partition, '') || '/' || a.id || '/' || a.raw AS attempts_of,
    row_number() OVER (PARTITION BY coalesce(a.cluster, s.cluster), a.partition, a.id, a.raw, a.task, a.node, a.submit_us, a.start_us
      ORDER BY CASE WHEN a.end_us IS NULL THEN 1 ELSE 0 END, a.end_us DESC, s.path, a.line) AS nth
  FROM alloc AS a JOIN source AS s ON s.key = a.key
  WHERE a.record = 'task' AND a.id IS NOT NULL
),
edge AS (
  SELECT attempts_of, start_us AS at_us, 1 AS opens, milli, 1 AS place, path, line FROM newest WHERE nth = 1 AND start_us IS NOT NULL
  UNION ALL
  SELECT attempts_of, end_us, -1, -milli, CASE WHEN end_us > start_us THEN 0 ELSE 2 END, path, line FROM newest WHERE nth = 1 AND end_us >= start_us
),
level AS (
  -- pods of one gang start at one instant: which of them comes first must be the same here and in the next window
  SELECT *, sum(opens) OVER w AS holding, sum(milli) OVER w AS held FROM edge
  WINDOW w AS (PARTITION BY attempts_of ORDER BY at_us, place, path, line ROWS UNBOUNDED PRECEDING)
),
numbered AS (
  SELECT *, sum(CASE WHEN opens = 1 AND holding = 1 THEN 1 ELSE 0 END) OVER (
    PARTITION BY attempts_of ORDER BY at_us, place, path, line ROWS UNBOUNDED PRECEDING) AS attempt
  FROM level
),
attempt AS (
  SELECT attempts_of, min(at_us) AS start_us, CASE WHEN sum(opens) = 0 THEN max(at_us) END AS end_us, CASE WHEN max(held) <= 1000000000 THEN CAST(max(held) AS BIGINT) END AS gpu_milli
  FROM numbered GROUP BY attempts_of, attempt
),
whole AS (
  SELECT n.at_cluster, n.partition, n.id, n.raw, a.start_us, a.end_us, min(n.name) AS name, min(n.submit_us) AS submit_us,
    min(n.ready_us) AS ready_us, min(n.clock) AS clock, max(n.reason) AS reason,
    CASE WHEN bool_or(upper(n.state) = 'FAILED') THEN 'Failed' WHEN bool_or(upper(n.state) = 'RUNNING') THEN 'Running' ELSE min(n.state) END AS state,
    a.gpu_milli, CASE WHEN a.gpu_milli % 1000 = 0 THEN CAST(a.gpu_milli // 1000 AS INTEGER) END AS gpus,
    CASE WHEN sum(n.gpus_requested) <= 1000000 THEN CAST(sum(n.gpus_requested) AS INTEGER) END AS gpus_requested, max(n.exit_code) AS exit_code, max(n.exit_signal) AS exit_signal,
    CAST(count(DISTINCT CASE WHEN n.start_us IS NOT NULL THEN coalesce(n.node, n.task) END) AS INTEGER) AS nodes,
    min(n.path) AS path, min_by(n.key, n.path) AS key, min_by(n.line, n.path || lpad(CAST(n.line AS VARCHAR), 12, '0')) AS line
  FROM newest AS n
  LEFT JOIN attempt AS a ON a.attempts_of = n.attempts_of AND n.start_us >= a.start_us AND (a.end_us IS NULL OR n.start_us <= a.end_us)
    AND (n.end_us IS NULL OR a.end_us IS NULL OR n.end_us <= a.end_us)
  WHERE n.nth = 1
  GROUP BY n.at_cluster, n.partition, n.id, n.raw, a.start_us, a.end_us, a.gpu_milli
)
SELECT key, path, line, at_cluster, partition, id, raw, name, state, reason, submit_us, start_us, ready_us, end_us, clock, nodes, gpus,
  gpus_requested, exit_code, exit_signal, gpu_milli, lead(start_us) OVER (PARTITION BY at_cluster, partition, id ORDER BY start_us NULLS FIRST, raw) AS next_us,
  count(start_us) OVER (PARTITION BY at_cluster, partition, id) AS starts,
  row_number() OVER (PARTITION BY at_cluster, partition, id ORDER BY start_us DESC NULLS LAST, raw) AS nth
FROM whole
