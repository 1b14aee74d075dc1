-- One row per save that was asked for: when, and what its lines tell of its end.
-- needs: mark, _walk, _work, _placed, _stream
-- job: job
-- k: number of the start in its job
-- step: step of the save; -1 where none is known
-- at_us: first line of it; where that has no stamp, and the end of a save that holds the loop tells what it took, that much before the end
-- evidence: path and line of the request
-- done_us: last commit, or the end of staging where that is earlier
-- staged_us: last end of staging
-- written_us: last line that tells of a part that is written
WITH told AS (
  SELECT job, k, CASE WHEN kind = 'save_blocking' THEN 'save_request' ELSE kind END AS kind, coalesce(step, last_value(CASE WHEN kind IN ('save_request', 'save_blocking') THEN step END IGNORE NULLS) OVER (
      PARTITION BY job, k ORDER BY at_us, part_no, path, line, CASE WHEN kind IN ('save_request', 'save_blocking') THEN 0 ELSE 1 END, kind, step ROWS UNBOUNDED PRECEDING)) AS step,
    at_us, stream, part_no, path, line, kind = 'save_blocking' AND NOT dated AS vague, CASE WHEN kind = 'save_commit' AND duration_us > 0 THEN at_us - duration_us END AS from_us
  FROM mark
  WHERE kind IN ('save_request', 'save_blocking', 'save_staged', 'save_written', 'save_commit') AND at_us IS NOT NULL
),
numberless AS (SELECT DISTINCT job FROM told WHERE step IS NULL),
beside AS (
  -- a save without a number is of the last step line before it in its own log: clocks of two ranks need not agree on what came first
  SELECT job, k, kind, step, at_us, stream, part_no, path, line, vague, from_us, coalesce(step, last_value(beside_step IGNORE NULLS) OVER (
    PARTITION BY job, k, stream ORDER BY part_no, line, CASE WHEN kind = 'line' THEN 0 ELSE 1 END, beside_step ROWS UNBOUNDED PRECEDING)) AS own_step
  FROM (
    SELECT *, CAST(NULL AS BIGINT) AS beside_step FROM told
    UNION ALL
    SELECT p.job, p.k, 'line', NULL, NULL, c.stream, c.part_no, c.path, w.line, NULL, NULL, w.step
    FROM _walk AS w JOIN _placed AS p ON p.gid = w.gid JOIN numberless AS n ON n.job = p.job JOIN _stream AS c ON c.no = w.no
  ) AS logged
),
lined AS (
  SELECT job, k, kind, own_step AS step, at_us, part_no, path, line, vague, from_us FROM beside WHERE kind <> 'line'
  UNION ALL
  SELECT p.job, p.k, 'step', w.step, w.end_us, 0, '', 0, NULL, NULL FROM _work AS w JOIN _placed AS p ON p.gid = w.gid
  WHERE p.job IN (SELECT job FROM beside WHERE kind <> 'line' AND own_step IS NULL)
),
located AS (
  -- where that log prints no steps, of the last one of any log
  SELECT job, k, kind, at_us, part_no, path, line, vague, from_us, coalesce(step, last_value(CASE WHEN kind = 'step' THEN step END IGNORE NULLS) OVER (
    PARTITION BY job, k ORDER BY at_us, path, line, step ROWS UNBOUNDED PRECEDING), -1) AS step
  FROM lined
),
turned AS (
  -- a step may be saved twice: a request behind a commit opens another save
  SELECT *, CASE WHEN kind = 'save_request' AND coalesce(last_value(CASE WHEN kind <> 'save_written' THEN kind END IGNORE NULLS) OVER (
      PARTITION BY job, k, step ORDER BY at_us, part_no, path, line, CASE WHEN kind = 'save_request' THEN 0 ELSE 1 END, kind ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '')
    <> 'save_request' THEN 1 ELSE 0 END AS opens
  FROM located
  WHERE kind <> 'step'
),
numbered AS (
  SELECT *, sum(opens) OVER (PARTITION BY job, k, step ORDER BY at_us, part_no, path, line, CASE WHEN kind = 'save_request' THEN 0 ELSE 1 END, kind, opens DESC ROWS UNBOUNDED PRECEDING) AS nth FROM turned
)
SELECT job, k, step, CASE WHEN bool_and(CASE WHEN kind = 'save_request' THEN vague END) THEN greatest(min(at_us), coalesce(max(from_us), min(at_us))) ELSE min(at_us) END AS at_us, min_by(path || ':' || CAST(line AS VARCHAR), opens * -1) AS evidence,
  least(max(CASE WHEN kind = 'save_commit' THEN at_us END), max(CASE WHEN kind = 'save_staged' THEN at_us END)) AS done_us,
  max(CASE WHEN kind = 'save_staged' THEN at_us END) AS staged_us,
  max(CASE WHEN kind = 'save_written' THEN at_us END) AS written_us
FROM numbered
WHERE nth > 0
GROUP BY job, k, step, nth
