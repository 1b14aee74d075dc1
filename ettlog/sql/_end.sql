-- One row per start: how its own log says that it ended.
-- needs: _attempt, _event, _launch
-- gid: number of the start over all jobs
-- end_state: how it ended; null where the log is silent
-- cause: cause of the end, where one is named
-- failed_us: first sign of the failure
-- ended_us: last instant that belongs to the proven end
-- evidence: path and line of the first sign of the failure, else of the last line of the end
-- planned_exit: whether the trainer stopped by its own limit, to be continued
-- A line of failure that a step line follows was no failure of the start. -15, -9 and SIGTERM are what happens to victims.
WITH progress AS (
  SELECT a.gid, max(l.last_step_us) AS last_step_us
  FROM _attempt AS a JOIN _launch AS l ON l.stream = a.stream AND l.launch = a.launch
  GROUP BY a.gid
),
told AS (
  SELECT a.gid, e.kind, e.at_us, e.dated, e.code, CASE WHEN e.cause <> '' THEN e.cause END AS cause,
    e.path || ':' || CAST(e.line AS VARCHAR) AS evidence,
    row_number() OVER (PARTITION BY a.gid ORDER BY e.at_us NULLS FIRST, e.part_no, e.path, e.line) AS pos,
    CASE
      WHEN e.kind = 'exit_code' THEN CASE WHEN coalesce(e.code, 1) = 0 THEN 'exit_ok'
        WHEN e.code IN (-15, -9, 143, 137) THEN 'victim' ELSE 'failure' END
      WHEN e.kind = 'failure' AND e.cause = 'sigterm' THEN 'victim'
      WHEN e.kind = 'failure' AND e.at_us < p.last_step_us THEN 'survived'
      WHEN e.kind = 'exit_planned' THEN 'train_end'
      ELSE e.kind END AS says
  FROM _attempt AS a
  JOIN _event AS e ON e.stream = a.stream AND e.launch = a.launch
  JOIN progress AS p ON p.gid = a.gid
  WHERE e.kind IN ('train_end', 'exit_ok', 'exit_planned', 'exit_code', 'failure', 'interrupt', 'signal', 'kill', 'cancelled',
    'time_limit', 'preempted', 'node_failure')
),
-- what fails behind a signal without a cause of its own fails because of it
ordered AS (
  SELECT *, says IN ('failure', 'victim', 'kill', 'interrupt', 'signal', 'preempted', 'node_failure') AS signs,
    says = 'failure' AND NOT coalesce(coalesce(cause, 'other') = 'other'
    AND pos > min(CASE WHEN says = 'signal' THEN pos END) OVER (PARTITION BY gid), FALSE) AS own
  FROM told
),
summed AS (
  SELECT gid,
    bool_or(says = 'time_limit') AS limited, bool_or(says = 'preempted') AS preempted, bool_or(says = 'node_failure') AS node,
    bool_or(says = 'cancelled') AS cancelled, bool_or(says = 'interrupt') AS interrupted, bool_or(says = 'signal') AS signalled,
    bool_or(says IN ('kill', 'victim')) AS killed, bool_or(kind = 'exit_planned') AS planned_exit,
    coalesce(max(CASE WHEN says = 'train_end' THEN pos END), 0) AS trained,
    coalesce(max(CASE WHEN says = 'exit_ok' THEN pos END), 0) AS left_well,
    coalesce(max(CASE WHEN says = 'failure' THEN pos END), 0) AS failed,
    coalesce(max(CASE WHEN kind = 'exit_code' AND says <> 'exit_ok' OR says IN ('kill', 'victim') THEN pos END), 0) AS struck,
    bool_or(own) OR (bool_or(says = 'kill') AND NOT bool_or(says = 'signal')) AS failing,
    min_by(cause, pos) FILTER (WHERE says = 'failure' AND cause IS NOT NULL AND cause <> 'other') AS named,
    min_by(cause, pos) FILTER (WHERE says = 'failure' AND cause IS NOT NULL) AS unnamed,
    min(at_us) FILTER (WHERE dated AND signs) AS sign_us,
    min(at_us) FILTER (WHERE signs) AS near_us,
    -- a watchdog that gives up says that ranks hang, not that they have ended
    max(at_us) FILTER (WHERE dated AND says <> 'survived' AND coalesce(cause, '') <> 'nccl_timeout') AS ended_us,
    min_by(evidence, pos) FILTER (WHERE signs) AS sign,
    max_by(evidence, pos) FILTER (WHERE says <> 'survived') AS proof
  FROM ordered GROUP BY gid
),
judged AS (
  SELECT *, CASE
      WHEN limited THEN 'time_limit' WHEN preempted THEN 'preempted' WHEN node THEN 'node_failure'
      WHEN cancelled OR interrupted THEN 'cancelled'
      WHEN trained > greatest(failed, struck) OR (left_well > failed AND struck = 0) THEN 'completed'
      WHEN failing THEN 'failed'
      WHEN signalled OR killed THEN 'killed' END AS end_state
  FROM summed
)
SELECT gid, end_state,
  CASE end_state
    WHEN 'preempted' THEN 'preemption' WHEN 'node_failure' THEN 'node' WHEN 'failed' THEN coalesce(named, unnamed)
    WHEN 'killed' THEN 'sigterm' WHEN 'cancelled' THEN CASE WHEN NOT cancelled THEN 'sigint' END END AS cause,
  CASE WHEN end_state IN ('failed', 'killed', 'preempted', 'node_failure') OR (end_state = 'cancelled' AND NOT cancelled)
    THEN coalesce(sign_us, near_us) END AS failed_us,
  CASE WHEN end_state IS NOT NULL THEN ended_us END AS ended_us,
  CASE WHEN end_state IS NOT NULL AND end_state <> 'completed' THEN coalesce(sign, proof) ELSE proof END AS evidence,
  planned_exit
FROM judged
