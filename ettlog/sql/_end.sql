-- One row per start: how its own log says that it ended.
-- needs: _sign
-- gid: number of the start over all jobs
-- end_state: how it ended; null where the log is silent
-- cause: cause of the end, where one is named
-- failed_us: first sign of the failure
-- failed_dated: whether a sign of the failure holds an instant of its own
-- ended_us: last instant that belongs to the proven end
-- evidence: path and line of the first sign of the failure, else of the last line of the end
-- doubted: whether its first sign may have the stamp of another line: an exit code dated two seconds before the failure that the same log
-- reports, or a sign that stands alone, a minute before all others
-- planned_exit: whether the trainer stopped by its own limit, to be continued
WITH summed AS (
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
  FROM _sign GROUP BY gid
),
reported AS (
  SELECT gid, stream, min(at_us) AS at_us FROM _sign WHERE kind = 'failure' AND dated GROUP BY gid, stream
),
borrowed AS (
  SELECT DISTINCT s.gid
  FROM summed AS s JOIN _sign AS c ON c.gid = s.gid AND c.at_us = s.sign_us AND c.kind = 'exit_code' AND c.dated AND c.signs
  JOIN reported AS r ON r.gid = c.gid AND r.stream = c.stream AND r.at_us > c.at_us + 2000000
  UNION
  SELECT s.gid
  FROM summed AS s JOIN _sign AS c ON c.gid = s.gid AND c.dated AND c.signs
  GROUP BY s.gid
  HAVING max(c.at_us) > min(s.sign_us) + 60000000
    AND count(DISTINCT CASE WHEN c.at_us <= s.sign_us + 60000000 THEN c.stream || ' ' || CAST(c.at_us AS VARCHAR) END) = 1
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
SELECT j.gid, end_state,
  CASE end_state
    WHEN 'preempted' THEN 'preemption' WHEN 'node_failure' THEN 'node' WHEN 'failed' THEN coalesce(named, unnamed)
    WHEN 'killed' THEN 'sigterm' WHEN 'cancelled' THEN CASE WHEN NOT cancelled THEN 'sigint' END END AS cause,
  CASE WHEN end_state IN ('failed', 'killed', 'preempted', 'node_failure') OR (end_state = 'cancelled' AND NOT cancelled)
    THEN coalesce(sign_us, near_us) END AS failed_us,
  sign_us IS NOT NULL AS failed_dated,
  CASE WHEN end_state IS NOT NULL THEN ended_us END AS ended_us,
  CASE WHEN end_state IS NOT NULL AND end_state <> 'completed' THEN coalesce(sign, proof) ELSE proof END AS evidence,
  b.gid IS NOT NULL AS doubted, planned_exit
FROM judged AS j LEFT JOIN borrowed AS b ON b.gid = j.gid
