-- One row per interval that its own lines bound: a begin and an end, or an end with its duration.
-- needs: mark, lifecycle_kind, _work
-- job: job
-- k: number of the start in its job
-- part: what went on
-- begin_us: first rank's begin
-- end_us: last rank's end
-- inferred: whether an instant is not printed
-- evidence: path and line of the first line
WITH edged AS (
  SELECT m.job, m.k, k.part, k.edge, m.at_us, m.duration_us, m.dated, m.path || ':' || CAST(m.line AS VARCHAR) AS evidence,
    m.path, m.line
  FROM mark AS m JOIN lifecycle_kind AS k ON k.kind = m.kind
  WHERE m.at_us IS NOT NULL AND (k.edge = 'both' OR k.part IN ('restore', 'compile', 'evaluation', 'publish'))
    AND k.edge <> ''
),
lined AS (
  SELECT job, k, part, edge, at_us, dated, evidence, path, line FROM edged WHERE edge <> 'both'
  UNION ALL
  -- an evaluation that only prints its results began with the last step line before it
  SELECT w.job, w.k, 'evaluation', 'line', w.end_us, FALSE, w.evidence, w.evidence, 0
  FROM _work AS w
  WHERE w.job IN (SELECT job FROM edged WHERE part = 'evaluation')
),
turned AS (
  SELECT *, CASE WHEN edge <> 'end' AND coalesce(lag(edge) OVER w, 'end') <> 'begin' THEN 1 ELSE 0 END AS opens
  FROM lined
  WINDOW w AS (PARTITION BY job, k, part ORDER BY at_us, CASE edge WHEN 'line' THEN 0 WHEN 'begin' THEN 1 ELSE 2 END, path, line)
),
paired AS (
  SELECT *, sum(opens) OVER (PARTITION BY job, k, part ORDER BY at_us,
    CASE edge WHEN 'line' THEN 0 WHEN 'begin' THEN 1 ELSE 2 END, path, line ROWS UNBOUNDED PRECEDING) AS nth
  FROM turned
)
SELECT job, k, part, min(at_us) AS begin_us, max(CASE WHEN edge = 'end' THEN at_us END) AS end_us,
  NOT bool_and(dated) AS inferred, min_by(evidence, at_us) AS evidence
FROM paired
WHERE nth > 0
GROUP BY job, k, part, nth
HAVING max(CASE WHEN edge = 'end' THEN at_us END) > min(at_us)
UNION ALL
SELECT job, k, part, at_us - duration_us, at_us, NOT dated, evidence
FROM edged
WHERE edge = 'both' AND duration_us > 0
