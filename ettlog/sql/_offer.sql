-- One row per attempt that a scheduler recorded of a job: its own record, or what the records of its tasks add up to.
-- needs: alloc, source, _task
-- key: content key of the source
-- path: path of the file
-- line: line of the record
-- at_cluster: cluster, where known
-- id: job id as printed
-- raw: key of the attempt
-- name: job name
-- state: state as the scheduler wrote it
-- reason: reason as written
-- submit_us: submission
-- eligible_us: the job could have started
-- start_us: hardware was given
-- ready_us: the job's own processes ran
-- end_us: hardware was given back
-- elapsed_us: time held as printed
-- clock: how the instants were had
-- nodes: nodes held
-- gpus: GPUs held
-- gpus_requested: GPUs asked for
-- exit_code: exit code
-- exit_signal: signal that ended it
-- gpu_milli: GPUs held in thousandths
-- A job whose record has no start holds hardware while its tasks do; its own record names submission and state. Quota (a record
-- that names an object inside the job) counts where nothing else of the job overlaps it.
WITH told AS (
  SELECT a.*, coalesce(a.cluster, s.cluster) AS at_cluster, s.path,
    coalesce(a.cluster, s.cluster, '') || '/' || coalesce(a.partition, '') || '/' || a.id AS whose,
    row_number() OVER (ORDER BY s.path, a.line, a.raw, a.submit_us, a.start_us, a.end_us) AS no
  FROM alloc AS a JOIN source AS s ON s.key = a.key
  WHERE a.record = 'job'
),
quota AS (
  SELECT DISTINCT q.no
  FROM told AS q JOIN told AS j ON j.whose = q.whose
  WHERE q.task IS NOT NULL AND j.task IS NULL AND j.start_us IS NOT NULL
    AND (q.start_us IS NULL OR j.end_us IS NULL OR q.start_us < j.end_us) AND (q.end_us IS NULL OR j.start_us < q.end_us)
),
own AS (
  SELECT *, coalesce(max(CASE WHEN start_us IS NULL THEN 0 ELSE 1 END) OVER (PARTITION BY whose), 1) = 1 OR id IS NULL AS told_start,
    row_number() OVER (PARTITION BY whose ORDER BY CASE WHEN end_us IS NULL THEN 1 ELSE 0 END, end_us DESC, path, line) AS nth
  FROM told WHERE no NOT IN (SELECT no FROM quota)
),
task AS (
  SELECT *, coalesce(at_cluster, '') || '/' || coalesce(partition, '') || '/' || id AS whose FROM _task
)
SELECT j.key, j.path, j.line, j.at_cluster, j.id, j.raw, j.name, j.state, j.reason, j.submit_us, j.eligible_us, j.start_us,
  coalesce(j.ready_us, CASE WHEN t.starts = 1 AND t.ready_us >= j.start_us THEN t.ready_us END) AS ready_us, j.end_us, j.elapsed_us, j.clock,
  coalesce(j.nodes, CASE WHEN j.start_us IS NOT NULL THEN t.nodes END) AS nodes,
  coalesce(j.gpus, CASE WHEN j.start_us IS NOT NULL THEN t.gpus END) AS gpus, coalesce(j.gpus_requested, t.gpus_requested) AS gpus_requested,
  coalesce(j.exit_code, t.exit_code) AS exit_code, coalesce(j.exit_signal, t.exit_signal) AS exit_signal,
  coalesce(j.gpu_milli, CASE WHEN j.start_us IS NOT NULL AND j.gpus IS NULL THEN t.gpu_milli END) AS gpu_milli
FROM own AS j
LEFT JOIN task AS t ON t.whose = j.whose AND t.nth = 1
WHERE j.told_start OR coalesce(t.starts, 0) = 0
UNION ALL
SELECT t.key, t.path, t.line, t.at_cluster, t.id, t.raw, coalesce(t.name, j.name),
  CASE WHEN t.next_us IS NULL THEN coalesce(j.state, t.state) ELSE t.state END,
  CASE WHEN t.next_us IS NULL THEN coalesce(j.reason, t.reason) ELSE t.reason END, coalesce(j.submit_us, t.submit_us), j.eligible_us,
  t.start_us, t.ready_us, coalesce(t.end_us, CASE WHEN t.next_us IS NULL THEN j.end_us ELSE t.next_us END), j.elapsed_us, t.clock,
  t.nodes, t.gpus, t.gpus_requested, t.exit_code, t.exit_signal, t.gpu_milli
FROM task AS t
LEFT JOIN own AS j ON j.whose = t.whose AND j.nth = 1
WHERE j.id IS NULL OR (NOT j.told_start AND t.starts > 0)
