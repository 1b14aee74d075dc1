-- One row per start, step and state of a checkpoint, with the instant at which the state was reached.
-- needs: mark, _placed, _line
-- job: job
-- k: number of the start in its job
-- step: step of the checkpoint
-- state: requested, staged, written, committed, loaded
-- at_us: instant: the first rank's of a request, the last rank's of every other state; of dated lines where there are any
-- path: what was written, where the log names it
-- evidence: path and line of the log line that gives the instant
WITH nameless AS (
  SELECT p.gid, m.path, m.line, m.at_us FROM mark AS m JOIN _placed AS p ON p.job = m.job AND p.k = m.k
  WHERE m.kind IN ('save_request', 'save_blocking') AND m.step IS NULL AND m.at_us IS NOT NULL
),
mixed AS (
  SELECT gid, path, line, at_us, CAST(NULL AS BIGINT) AS step, 1 AS place FROM nameless
  UNION ALL
  SELECT gid, NULL, NULL, at_us, step, 0 FROM _line WHERE gid IN (SELECT gid FROM nameless)
),
located AS (
  -- a request without a number is of the last step line before it
  SELECT path, line, last_value(step IGNORE NULLS) OVER (PARTITION BY gid ORDER BY at_us, place, step, path, line ROWS UNBOUNDED PRECEDING) AS step
  FROM mixed
),
told AS (
  SELECT m.*, CASE m.kind WHEN 'save_request' THEN 'requested' WHEN 'save_blocking' THEN 'requested' WHEN 'save_staged' THEN 'staged' WHEN 'save_written' THEN 'written'
      WHEN 'save_commit' THEN 'committed' ELSE 'loaded' END AS state,
    CASE WHEN m.kind = 'restore_end' THEN coalesce(m.step, p.resumed_from)
      -- a line without a number speaks of the last save that was asked for
      ELSE coalesce(m.step, last_value(CASE WHEN m.kind IN ('save_request', 'save_blocking') THEN coalesce(m.step, n.step) END IGNORE NULLS) OVER (
        PARTITION BY m.job, m.k ORDER BY m.at_us, m.part_no, m.path, m.line, CASE WHEN m.kind IN ('save_request', 'save_blocking') THEN 0 ELSE 1 END, m.kind, m.step ROWS UNBOUNDED PRECEDING)) END AS of_step
  FROM mark AS m JOIN _placed AS p ON p.job = m.job AND p.k = m.k
  LEFT JOIN located AS n ON n.path = m.path AND n.line = m.line
  WHERE m.kind IN ('save_request', 'save_blocking', 'save_staged', 'save_written', 'save_commit', 'restore_end')
),
stepped AS (
  SELECT gid, max(step) AS last_step FROM _line GROUP BY gid
),
behind AS (
  SELECT job, k, path, CAST(NULL AS BIGINT) AS of_step, max(line) AS last_line FROM mark
  WHERE kind IN ('save_delete', 'train_end', 'exit_ok', 'exit_planned', 'publish_begin')
  GROUP BY job, k, path
  UNION ALL
  SELECT job, k, path, of_step, max(line) FROM told WHERE state = 'requested' GROUP BY job, k, path, of_step
),
closed AS (
  SELECT DISTINCT job, k, of_step FROM told WHERE state IN ('staged', 'committed')
),
finished AS (
  -- a save that holds the loop and tells of no commit is complete when the loop has gone on; what one rank wrote says nothing of the others,
  -- and further lines about the same save nothing of its end
  SELECT t.job, t.k, t.of_step, t.name, t.path, t.line
  FROM told AS t
  LEFT JOIN stepped AS s ON s.gid = t.gid
  LEFT JOIN behind AS b ON b.job = t.job AND b.k = t.k AND b.path = t.path AND (b.of_step IS NULL OR t.of_step IS NULL OR b.of_step <> t.of_step)
  LEFT JOIN closed AS c ON c.job = t.job AND c.k = t.k AND c.of_step = t.of_step
  WHERE t.kind = 'save_blocking' AND c.job IS NULL AND (s.last_step > t.of_step OR b.last_line > t.line)
),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY job, k, of_step, state,
      CASE WHEN of_step IS NULL THEN path || CAST(line AS VARCHAR) END
    -- lines that name the step and hold a stamp before others
    ORDER BY CASE WHEN state = 'loaded' AND step IS NULL THEN 1 ELSE 0 END, CASE WHEN dated THEN 0 ELSE 1 END,
      CASE WHEN state = 'requested' THEN at_us ELSE -at_us END NULLS LAST, path, line, kind, name) AS nth
  FROM told
)
SELECT job, k, of_step AS step, state, at_us, name AS path, path || ':' || CAST(line AS VARCHAR) AS evidence
FROM ranked
WHERE nth = 1
UNION ALL
SELECT job, k, of_step, 'committed', CAST(NULL AS BIGINT), min(name), min(path || ':' || CAST(line AS VARCHAR) || ' (the loop went on)')
FROM finished
GROUP BY job, k, of_step
