-- One row per save: the time in which the training loop waited for it.
-- needs: mark, _asked, _work, _steady, _placed, _start, _untold
-- job: job
-- k: number of the start in its job
-- part: save_stall, or final_save where the training loop had been left before, or where a start that completed made no step behind it
-- begin_us: the save was asked for
-- end_us: first of the last rank's commit, the end of staging, the own work of the next step, and the start's failure
-- inferred: whether no line tells the end, or the line of the next step may have another line's stamp
-- evidence: path and line of the request
WITH mixed AS (
  -- an undated end carries the request's own instant and tells nothing
  SELECT p.gid, a.step, a.at_us, a.evidence, CASE WHEN a.done_us > a.at_us THEN a.done_us END AS done_us, a.staged_us, a.written_us,
    CAST(NULL AS BIGINT) AS resumes_us, CAST(NULL AS BIGINT) AS line_us, CAST(NULL AS BOOLEAN) AS vague, 1 AS place
  FROM _asked AS a JOIN _placed AS p ON p.job = a.job AND p.k = a.k
  UNION ALL
  SELECT w.gid, w.step, NULL, NULL, NULL, NULL, NULL, w.end_us - coalesce(s.steady_us * w.covered, w.printed_us, 0), w.end_us, u.gid IS NOT NULL, 0
  FROM _work AS w JOIN _steady AS s ON s.gid = w.gid
  LEFT JOIN _untold AS u ON u.gid = w.gid AND u.pass = w.pass AND u.step = w.step
  WHERE w.gid IN (SELECT p.gid FROM _asked AS a JOIN _placed AS p ON p.job = a.job AND p.k = a.k)
),
next AS (
  -- a save of step n comes behind the line of step n; the first line behind it bounds the wait
  SELECT *, first_value(line_us IGNORE NULLS) OVER w AS next_line_us, first_value(resumes_us IGNORE NULLS) OVER w AS next_us,
    first_value(vague IGNORE NULLS) OVER w AS next_vague
  FROM mixed
  WINDOW w AS (PARTITION BY gid ORDER BY step, place, at_us, line_us, resumes_us ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
),
left_at AS (
  SELECT job, k, min(at_us) AS at_us FROM mark WHERE kind = 'train_end' GROUP BY job, k
),
newest AS (
  SELECT job, k, max(at_us) AS at_us FROM _asked GROUP BY job, k
),
stepped AS (
  SELECT gid, max(end_us) AS end_us, max(step) AS step FROM _work GROUP BY gid
)
SELECT p.job, p.k,
  -- a start that ends well makes its last save behind its last step, whether or not it says before that it leaves the loop; clocks of
  -- two nodes may tell it before the step's end, its number does not
  CASE WHEN e.at_us <= n.at_us OR (t.end_state = 'completed' AND (n.at_us >= w.end_us OR n.step >= w.step) AND coalesce(o.at_us < e.at_us, TRUE)) THEN 'final_save' ELSE 'save_stall' END AS part, n.at_us AS begin_us,
  -- a line that lets the loop go on is better evidence than the estimate of the next step's own work; a commit is not
  greatest(n.at_us, least(coalesce(CASE WHEN n.done_us = n.staged_us AND n.staged_us <= n.next_line_us THEN n.staged_us
    ELSE least(n.done_us, n.next_us) END, n.written_us, p.last_us), t.failed_us)) AS end_us,
  n.done_us IS NULL OR coalesce(n.next_vague, FALSE) OR (p.steps_cut AND n.step >= w.step) AS inferred, n.evidence
FROM next AS n
JOIN _placed AS p ON p.gid = n.gid
JOIN _start AS t ON t.job = p.job AND t.k = p.k
LEFT JOIN left_at AS e ON e.job = p.job AND e.k = p.k
LEFT JOIN stepped AS w ON w.gid = n.gid
LEFT JOIN newest AS o ON o.job = p.job AND o.k = p.k
WHERE n.place = 1
