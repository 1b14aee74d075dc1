-- One row per start, step and state of a checkpoint, with the instant at which the state was reached.
-- needs: mark, _placed
-- job: job
-- k: number of the start in its job
-- step: step of the checkpoint
-- state: requested, staged, written, committed, loaded
-- at_us: instant: the first rank's of a request, the last rank's of every other state; of dated lines where there are any
-- path: what was written, where the log names it
-- evidence: path and line of the log line that gives the instant
WITH told AS (
  SELECT m.*, CASE m.kind WHEN 'save_request' THEN 'requested' WHEN 'save_staged' THEN 'staged' WHEN 'save_written' THEN 'written'
      WHEN 'save_commit' THEN 'committed' ELSE 'loaded' END AS state,
    CASE WHEN m.kind = 'restore_end' THEN coalesce(m.step, p.resumed_from)
      -- a line without a number speaks of the last save that was asked for
      ELSE coalesce(m.step, last_value(CASE WHEN m.kind = 'save_request' THEN m.step END IGNORE NULLS) OVER (
        PARTITION BY m.job, m.k ORDER BY m.at_us, m.part_no, m.path, m.line ROWS UNBOUNDED PRECEDING)) END AS of_step
  FROM mark AS m JOIN _placed AS p ON p.job = m.job AND p.k = m.k
  WHERE m.kind IN ('save_request', 'save_staged', 'save_written', 'save_commit', 'restore_end')
),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY job, k, of_step, state,
      CASE WHEN of_step IS NULL THEN path || CAST(line AS VARCHAR) END
    -- lines that name the step and hold a stamp before others
    ORDER BY CASE WHEN state = 'loaded' AND step IS NULL THEN 1 ELSE 0 END, CASE WHEN dated THEN 0 ELSE 1 END,
      CASE WHEN state = 'requested' THEN at_us ELSE -at_us END NULLS LAST, path, line) AS nth
  FROM told
)
SELECT job, k, of_step AS step, state, at_us, name AS path, path || ':' || CAST(line AS VARCHAR) AS evidence
FROM ranked
WHERE nth = 1
