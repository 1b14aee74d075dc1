-- One row per attempt and source; where two sources tell of one attempt to another fraction of a second, the fuller one has it.
-- needs: _offer, alloc
-- key: content key of the source
-- path: path of the file
-- line: line of the record
-- at_cluster: cluster, where known
-- id: job id as printed
-- raw: key of the attempt
-- name: job name
-- state: state as the scheduler wrote it
-- reason: reason as written, else that of the other source
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
-- Accounting writes whole seconds, a controller's log milliseconds: one attempt, two starts less than two seconds apart.
-- A record without a cluster is of the one cluster that other records of the same job and submission name. An attempt that is open at
-- the end of one log of the controller ends where a later log tells of it.
WITH settled AS (
  SELECT *, min(at_cluster) OVER w AS first_cluster, max(at_cluster) OVER w AS last_cluster
  FROM _offer
  WINDOW w AS (PARTITION BY id, raw, submit_us)
),
worth AS (
  SELECT *, coalesce(at_cluster, CASE WHEN first_cluster = last_cluster THEN first_cluster END) AS in_cluster,
    row_number() OVER (ORDER BY path, line, raw, submit_us, start_us) AS no,
    CASE WHEN gpus IS NULL THEN 0 ELSE 4 END + CASE WHEN end_us IS NULL THEN 0 ELSE 2 END + CASE WHEN submit_us IS NULL THEN 0 ELSE 1 END AS facts
  FROM settled
),
twin AS (
  SELECT a.no AS kept, b.no AS dropped, b.reason
  FROM worth AS a JOIN worth AS b ON b.raw = a.raw AND b.id = a.id AND b.key <> a.key
    AND coalesce(b.in_cluster, a.in_cluster, '') = coalesce(a.in_cluster, b.in_cluster, '')
    AND (b.facts < a.facts OR (b.facts = a.facts AND b.no > a.no))
    AND ((b.start_us <> a.start_us AND abs(b.start_us - a.start_us) < 2000000)
      OR (b.start_us IS NULL AND b.end_us IS NULL AND b.submit_us <> a.submit_us AND abs(b.submit_us - a.submit_us) < 2000000))
),
other AS (
  SELECT kept, min(reason) AS reason FROM twin GROUP BY kept
),
closed AS (
  SELECT w.no, m.start_us AS end_us, m.state, m.reason, row_number() OVER (PARTITION BY w.no ORDER BY m.start_us, m.line) AS nth
  FROM worth AS w JOIN alloc AS m ON m.raw = w.raw AND m.id = w.id AND m.key <> w.key
  WHERE w.end_us IS NULL AND w.state = 'RUNNING' AND m.record = 'mark' AND m.start_us >= w.start_us AND m.state IN
    ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'OUT_OF_MEMORY', 'NODE_FAIL', 'PREEMPTED', 'REQUEUED')
)
SELECT w.key, w.path, w.line, w.in_cluster AS at_cluster, w.id, w.raw, w.name, coalesce(c.state, w.state) AS state,
  coalesce(w.reason, c.reason, o.reason) AS reason, w.submit_us, w.eligible_us, w.start_us, w.ready_us, coalesce(w.end_us, c.end_us) AS end_us,
  w.elapsed_us, w.clock, w.nodes, w.gpus, w.gpus_requested, w.exit_code, w.exit_signal, w.gpu_milli
FROM worth AS w LEFT JOIN other AS o ON o.kept = w.no LEFT JOIN closed AS c ON c.no = w.no AND c.nth = 1
WHERE w.no NOT IN (SELECT dropped FROM twin)
