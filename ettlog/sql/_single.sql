-- One row per attempt that a scheduler recorded: of several records of one attempt the one that tells most.
-- needs: _told
-- no: number of the attempt
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
WITH kept AS (
  SELECT *, coalesce(start_us, max(start_us) OVER (PARTITION BY at_cluster, raw, submit_us)) AS begun_us
  FROM _told
),
latest AS (
  SELECT *, row_number() OVER (PARTITION BY at_cluster, raw, submit_us, begun_us,
      -- records without any instant cannot be told from repeats: all are kept
      CASE WHEN submit_us IS NULL AND begun_us IS NULL THEN path || CAST(line AS VARCHAR) END
    ORDER BY CASE WHEN end_us IS NULL THEN 1 ELSE 0 END, CASE WHEN start_us IS NULL THEN 1 ELSE 0 END, end_us DESC, path, line) AS nth
  FROM kept
)
SELECT row_number() OVER (ORDER BY path, line, raw, submit_us, start_us) AS no, key, path, line, at_cluster, id, raw, name, state,
  reason, submit_us, eligible_us, start_us, ready_us, end_us, elapsed_us, clock, nodes, gpus, gpus_requested, exit_code, exit_signal, gpu_milli
FROM latest
WHERE nth = 1
