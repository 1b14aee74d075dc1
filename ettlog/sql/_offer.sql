-- One row per attempt that a scheduler recorded of a job: its own record, or what the records of its tasks add up to.
-- needs: alloc, source
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
-- gpu_milli: GPUs held in thousandths
-- A job whose record has no start (its pods or tasks hold the hardware) holds it while they do; its own record names submission and state.
WITH told AS (
  SELECT a.*, coalesce(a.cluster, s.cluster) AS at_cluster, s.path
  FROM alloc AS a JOIN source AS s ON s.key = a.key
  WHERE a.record = 'job' OR (a.record = 'task' AND a.id IS NOT NULL)
),
newest AS (
  SELECT *, row_number() OVER (PARTITION BY at_cluster, partition, id, raw, task, node, submit_us, start_us
    ORDER BY CASE WHEN end_us IS NULL THEN 1 ELSE 0 END, end_us DESC, path, line) AS nth
  FROM told WHERE record = 'task'
),
whole AS (
  SELECT at_cluster, partition, id, raw, min(name) AS name, min(submit_us) AS submit_us, min(start_us) AS start_us,
    min(ready_us) AS ready_us, CASE WHEN count(end_us) >= count(start_us) THEN max(end_us) END AS end_us, min(clock) AS clock,
    CASE WHEN bool_or(upper(state) = 'FAILED') THEN 'Failed' WHEN bool_or(upper(state) = 'RUNNING') THEN 'Running' ELSE min(state) END AS state,
    max(reason) AS reason, CAST(sum(gpus) AS INTEGER) AS gpus, CAST(sum(gpus_requested) AS INTEGER) AS gpus_requested,
    CAST(sum(coalesce(gpu_milli, 1000 * gpus)) AS BIGINT) AS gpu_milli,
    CAST(count(DISTINCT CASE WHEN start_us IS NOT NULL THEN coalesce(node, task) END) AS INTEGER) AS nodes,
    min(path) AS path, min_by(key, path) AS key, min_by(line, path || lpad(CAST(line AS VARCHAR), 12, '0')) AS line
  FROM newest WHERE nth = 1
  GROUP BY at_cluster, partition, id, raw
),
held AS (
  SELECT *, lead(start_us) OVER w AS next_us, sum(CASE WHEN start_us IS NOT NULL THEN 1 ELSE 0 END) OVER (PARTITION BY at_cluster, partition, id) AS starts
  FROM whole
  WINDOW w AS (PARTITION BY at_cluster, partition, id ORDER BY start_us, raw)
),
own AS (
  SELECT *, max(start_us) OVER (PARTITION BY at_cluster, partition, id) IS NOT NULL AS told_start,
    row_number() OVER (PARTITION BY at_cluster, partition, id ORDER BY CASE WHEN end_us IS NULL THEN 1 ELSE 0 END, end_us DESC, path, line) AS nth
  FROM told WHERE record = 'job'
),
last_held AS (
  SELECT * FROM held WHERE next_us IS NULL
)
SELECT j.key, j.path, j.line, j.at_cluster, j.id, j.raw, j.name, j.state, j.reason, j.submit_us, j.eligible_us, j.start_us,
  coalesce(j.ready_us, CASE WHEN t.starts = 1 AND t.ready_us >= j.start_us THEN t.ready_us END) AS ready_us, j.end_us, j.elapsed_us, j.clock,
  coalesce(j.nodes, t.nodes) AS nodes, coalesce(j.gpus, CASE WHEN j.start_us IS NOT NULL THEN t.gpus END) AS gpus,
  coalesce(j.gpus_requested, t.gpus_requested) AS gpus_requested,
  coalesce(j.gpu_milli, CASE WHEN j.start_us IS NOT NULL AND j.gpus IS NULL THEN t.gpu_milli END) AS gpu_milli
FROM own AS j
LEFT JOIN last_held AS t ON t.id = j.id AND coalesce(t.at_cluster, j.at_cluster, '') = coalesce(j.at_cluster, t.at_cluster, '')
  AND coalesce(t.partition, j.partition, '') = coalesce(j.partition, t.partition, '')
WHERE j.told_start OR coalesce(t.starts, 0) = 0
UNION ALL
SELECT t.key, t.path, t.line, t.at_cluster, t.id, t.raw, coalesce(t.name, j.name), CASE WHEN t.next_us IS NULL THEN coalesce(j.state, t.state) ELSE t.state END,
  CASE WHEN t.next_us IS NULL THEN coalesce(j.reason, t.reason) ELSE t.reason END, coalesce(j.submit_us, t.submit_us), j.eligible_us,
  t.start_us, t.ready_us, coalesce(t.end_us, CASE WHEN t.next_us IS NULL THEN j.end_us ELSE t.next_us END), j.elapsed_us, t.clock,
  t.nodes, t.gpus, t.gpus_requested, t.gpu_milli
FROM held AS t
LEFT JOIN own AS j ON j.nth = 1 AND j.id = t.id AND coalesce(t.at_cluster, j.at_cluster, '') = coalesce(j.at_cluster, t.at_cluster, '')
  AND coalesce(t.partition, j.partition, '') = coalesce(j.partition, t.partition, '')
WHERE j.id IS NULL OR (NOT j.told_start AND t.starts > 0)
