-- One row per attempt and source; where two sources tell of one attempt to another fraction of a second, the fuller one has it.
-- needs: _offer
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
-- gpu_milli: GPUs held in thousandths
-- Accounting writes whole seconds, a controller's log milliseconds: one attempt, two starts less than two seconds apart.
WITH worth AS (
  SELECT *, row_number() OVER (ORDER BY path, line, raw, submit_us, start_us) AS no,
    CASE WHEN gpus IS NULL THEN 0 ELSE 4 END + CASE WHEN end_us IS NULL THEN 0 ELSE 2 END + CASE WHEN submit_us IS NULL THEN 0 ELSE 1 END AS facts
  FROM _offer
),
twin AS (
  SELECT a.no AS kept, b.no AS dropped, b.reason
  FROM worth AS a JOIN worth AS b ON b.raw = a.raw AND b.id = a.id AND b.key <> a.key AND b.start_us <> a.start_us
    AND abs(b.start_us - a.start_us) < 2000000 AND coalesce(b.at_cluster, a.at_cluster, '') = coalesce(a.at_cluster, b.at_cluster, '')
    AND (b.facts < a.facts OR (b.facts = a.facts AND b.no > a.no))
),
other AS (
  SELECT kept, min(reason) AS reason FROM twin GROUP BY kept
)
SELECT w.key, w.path, w.line, w.at_cluster, w.id, w.raw, w.name, w.state, coalesce(w.reason, o.reason) AS reason, w.submit_us, w.eligible_us,
  w.start_us, w.ready_us, w.end_us, w.elapsed_us, w.clock, w.nodes, w.gpus, w.gpus_requested, w.gpu_milli
FROM worth AS w LEFT JOIN other AS o ON o.kept = w.no
WHERE w.no NOT IN (SELECT dropped FROM twin)
