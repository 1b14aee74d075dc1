-- One row per save: the time in which the training loop waited for it.
-- needs: _save, _work, _steady, _placed, _start, mark
-- job: job
-- k: number of the start in its job
-- part: save_stall, or final_save where the training loop had been left before
-- begin_us: the save was asked for
-- end_us: first of the last rank's commit, the end of staging, the own work of the next step, and the start's failure
-- inferred: whether no line tells the end
-- evidence: path and line of the request
WITH asked AS (
  SELECT r.job, r.k, r.step, r.at_us, r.evidence,
    -- an undated end carries the request's own instant and tells nothing
    min(CASE WHEN d.state IN ('committed', 'staged') AND d.at_us > r.at_us THEN d.at_us END) AS done_us,
    max(CASE WHEN d.state = 'written' THEN d.at_us END) AS written_us
  FROM _save AS r
  LEFT JOIN _save AS d ON d.job = r.job AND d.k = r.k AND d.step = r.step AND d.state IN ('committed', 'staged', 'written')
    AND d.at_us >= r.at_us
  WHERE r.state = 'requested' AND r.at_us IS NOT NULL
  GROUP BY r.job, r.k, r.step, r.at_us, r.evidence
),
mixed AS (
  SELECT job, k, step, at_us, evidence, done_us, written_us, CAST(NULL AS BIGINT) AS resumes_us, 1 AS place FROM asked
  UNION ALL
  SELECT w.job, w.k, w.step, NULL, NULL, NULL, NULL, w.end_us - coalesce(s.steady_us * w.covered, w.printed_us), 0
  FROM _work AS w JOIN _steady AS s ON s.job = w.job AND s.k = w.k
),
next AS (
  -- a save of step n comes behind the line of step n; the first line behind it bounds the wait
  SELECT *, first_value(resumes_us IGNORE NULLS) OVER (
    PARTITION BY job, k ORDER BY step, place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_us
  FROM mixed
  WHERE step IS NOT NULL OR place = 1
),
left_at AS (
  SELECT job, k, min(at_us) AS at_us FROM mark WHERE kind = 'train_end' GROUP BY job, k
)
SELECT n.job, n.k, CASE WHEN e.at_us <= n.at_us THEN 'final_save' ELSE 'save_stall' END AS part, n.at_us AS begin_us,
  greatest(n.at_us, least(coalesce(least(n.done_us, n.next_us), n.written_us, p.last_us), t.failed_us)) AS end_us,
  n.done_us IS NULL AS inferred, n.evidence
FROM next AS n
JOIN _placed AS p ON p.job = n.job AND p.k = n.k
JOIN _start AS t ON t.job = n.job AND t.k = n.k
LEFT JOIN left_at AS e ON e.job = n.job AND e.k = n.k
WHERE n.place = 1
