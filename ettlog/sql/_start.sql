-- One row per start: how it ended by all evidence, and why it was made.
-- needs: _placed
-- job: job
-- k: number of the start in its job
-- kind: why it was made: first, failure, preemption, planned, unknown
-- end_state: how it ended; the scheduler decides where the log is silent or tells of a signal only
-- cause: cause of the end
-- failed_us: first sign of the failure
-- ended_us: last instant that belongs to the proven end
-- end_evidence: path and line that prove the end, else those of the first line
-- same_log: whether the start before it is in the same log
-- final: whether it is the last start of its job
-- open: whether its job may still be running
WITH judged AS (
  SELECT *, told_state IN ('unknown', 'truncated', 'killed') AND last_in_allocation AND scheduler_state IS NOT NULL AS decided
  FROM _placed
),
settled AS (
  SELECT job, k, stream, resumed_from,
    CASE WHEN decided THEN scheduler_state ELSE told_state END AS end_state,
    CASE WHEN decided THEN scheduler_cause ELSE cause END AS cause,
    CASE WHEN NOT decided THEN failed_us
      WHEN scheduler_state IN ('failed', 'preempted', 'node_failure') THEN coalesce(failed_us, held_to_us) END AS failed_us,
    CASE WHEN decided THEN coalesce(ended_us, held_to_us) ELSE ended_us END AS ended_us,
    coalesce(CASE WHEN decided THEN held_evidence ELSE end_evidence END, evidence) AS end_evidence
  FROM judged
),
followed AS (
  SELECT *, lag(end_state) OVER w AS end_before, lag(stream) OVER w AS stream_before, lead(k) OVER w AS next_k
  FROM settled
  WINDOW w AS (PARTITION BY job ORDER BY k)
)
SELECT job, k,
  CASE
    WHEN k = 0 THEN CASE WHEN resumed_from > 0 THEN 'unknown' ELSE 'first' END
    WHEN end_before IN ('failed', 'killed', 'node_failure') THEN 'failure'
    WHEN end_before = 'preempted' THEN 'preemption'
    WHEN end_before IN ('completed', 'time_limit', 'cancelled') THEN 'planned'
    ELSE 'unknown' END AS kind,
  end_state, cause, failed_us, ended_us, end_evidence, coalesce(stream = stream_before, FALSE) AS same_log, next_k IS NULL AS final,
  last_value(end_state) OVER (PARTITION BY job ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    = 'truncated' AS open
FROM followed
