-- One row per allocation of a job, or request for one: what the scheduler recorded.
-- needs: _single, _own
-- job: job; the scheduler's id where no trainer log belongs to it
-- cluster: cluster, where known
-- id: job id as printed
-- raw: plain job id, or another key of the attempt
-- submit_us: submission in microseconds since 1970 UTC
-- eligible_us: the job could have started
-- start_us: hardware was given; null when it never was, or when nothing tells
-- ready_us: the job's own processes ran: containers up, prolog done
-- end_us: hardware was given back; null while it is held
-- elapsed_us: time held as printed
-- clock: how the instants were had; relative ones count from the start of a trace
-- state: state as the scheduler wrote it
-- reason: reason as written
-- gpus: GPUs held
-- gpu_milli: GPUs held in thousandths, where they are a share or a number that is known
-- nodes: nodes held
-- exit_code: exit code, where the scheduler tells it
-- exit_signal: signal that ended it, where the scheduler tells it
-- rule: how it belongs to the job; null where the job is the scheduler's id
-- evidence: path and line of the record, with a note where it belongs to the job by an inference
SELECT
  o.job, a.at_cluster AS cluster, coalesce(a.id, a.raw) AS id, a.raw, a.submit_us, a.eligible_us, a.start_us, a.ready_us, a.end_us,
  a.elapsed_us, a.clock, a.state, a.reason,
  -- a million GPUs is more than any cluster has: who says more is not believed
  coalesce(CASE WHEN a.gpus <= 1000000 THEN a.gpus END, CASE WHEN a.start_us IS NULL AND a.gpus_requested <= 1000000 THEN a.gpus_requested END) AS gpus,
  coalesce(CASE WHEN a.gpu_milli <= 1000000000 THEN a.gpu_milli END, CASE WHEN a.gpus <= 1000000 THEN 1000 * a.gpus END) AS gpu_milli,
  a.nodes, a.exit_code, a.exit_signal, o.rule,
  a.path || ':' || CAST(a.line AS VARCHAR)
    || CASE WHEN o.rule IN ('beside the log', 'resubmitted') THEN ' (' || o.rule || ')' ELSE '' END AS evidence
FROM _single AS a
JOIN _own AS o ON o.no = a.no
