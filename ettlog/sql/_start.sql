-- One row per start: how it ended by all evidence, and why it was made.
-- needs: _placed, _line, _steady, mark, lifecycle_kind
-- job: job
-- k: number of the start in its job
-- kind: why it was made: first, failure, preemption, planned, unknown
-- end_state: how it ended; the scheduler decides where the log is silent or tells of a signal only
-- cause: cause of the end
-- failed_us: first sign of the failure
-- failed_dated: whether that sign holds an instant of its own, or the scheduler tells the end
-- ended_us: last instant that belongs to the proven end
-- end_evidence: path and line that prove the end, else those of the first line
-- told: whether its own logs tell how it ended, not the scheduler alone, and none of them breaks off
-- same_log: whether the start before it is in the same log
-- hung: whether it was cancelled after a silence of ten minutes and of ten steps: nobody cancels so late what still runs
-- final: whether it is the last start of its job
-- open: whether its job may still be running
WITH judged AS (
  SELECT *, told_state IN ('unknown', 'truncated', 'killed') AND last_in_allocation AND scheduler_state IS NOT NULL AS decided
  FROM _placed
),
stepped AS (
  SELECT l.gid, max(l.at_us) AS at_us, max(s.steady_us * l.covered) AS step_us FROM _line AS l JOIN _steady AS s ON s.gid = l.gid GROUP BY l.gid
),
alive AS (
  SELECT m.gid, max(CASE WHEN k.end_state = '' AND m.kind <> 'kill' THEN m.at_us END) AS at_us
  FROM mark AS m JOIN lifecycle_kind AS k ON k.kind = m.kind GROUP BY m.gid
),
settled AS (
  SELECT job, k, gid, stream, resumed_from,
    CASE WHEN decided THEN scheduler_state ELSE told_state END AS end_state,
    CASE WHEN decided THEN scheduler_cause ELSE cause END AS cause,
    CASE WHEN NOT decided THEN failed_us
      WHEN scheduler_state IN ('failed', 'preempted', 'node_failure') THEN coalesce(failed_us, held_to_us) END AS failed_us,
    decided OR coalesce(failed_dated, FALSE) AS failed_dated,
    (NOT decided OR told_state = 'killed') AND NOT cut AS told,
    CASE WHEN decided THEN coalesce(ended_us, held_to_us) ELSE ended_us END AS ended_us,
    coalesce(CASE WHEN decided THEN held_evidence ELSE end_evidence END, evidence) AS end_evidence
  FROM judged
),
silent AS (
  SELECT s.*, coalesce(s.end_state = 'cancelled'
    AND s.ended_us - greatest(w.at_us, a.at_us) > greatest(600000000, 10 * w.step_us), FALSE) AS hung
  FROM settled AS s
  LEFT JOIN stepped AS w ON w.gid = s.gid
  LEFT JOIN alive AS a ON a.gid = s.gid
),
followed AS (
  SELECT *, lag(end_state) OVER w AS end_before, lag(hung) OVER w AS hung_before, lag(stream) OVER w AS stream_before, lead(k) OVER w AS next_k
  FROM silent
  WINDOW w AS (PARTITION BY job ORDER BY k)
)
SELECT job, k,
  CASE
    WHEN k = 0 THEN CASE WHEN resumed_from > 0 THEN 'unknown' ELSE 'first' END
    WHEN end_before IN ('failed', 'killed', 'node_failure') OR hung_before THEN 'failure'
    WHEN end_before = 'preempted' THEN 'preemption'
    WHEN end_before IN ('completed', 'time_limit', 'cancelled') THEN 'planned'
    ELSE 'unknown' END AS kind,
  end_state, cause, failed_us, failed_dated, ended_us, end_evidence, told, coalesce(stream = stream_before, FALSE) AS same_log, hung,
  next_k IS NULL AS final,
  last_value(end_state) OVER (PARTITION BY job ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    = 'truncated' AS open
FROM followed
