-- One row per interval that its own lines bound: a begin and an end, or an end with its duration.
-- needs: mark, lifecycle_kind, _work, _placed, _result, _timed
-- job: job
-- k: number of the start in its job
-- part: what went on
-- begin_us: first rank's begin
-- end_us: last rank's end
-- inferred: whether an instant is not printed
-- evidence: path and line of the first line
WITH edged AS (
  SELECT m.job, m.k, k.part, k.edge,
    coalesce(b.next_us, m.at_us) AS at_us,
    m.duration_us, m.dated, m.path || ':' || CAST(m.line AS VARCHAR) AS evidence,
    m.path, m.line
  FROM mark AS m
  JOIN lifecycle_kind AS k ON k.kind = m.kind
  LEFT JOIN _result AS b ON b.path = m.path AND b.line = m.line
  LEFT JOIN _timed AS t ON t.path = m.path AND t.line = m.line AND m.kind = 'evaluation_end'
  WHERE m.at_us IS NOT NULL AND t.path IS NULL AND (k.edge = 'both' OR k.part IN ('restore', 'compile', 'evaluation', 'publish'))
    AND k.edge <> ''
),
loads AS (
  SELECT job, k, path FROM mark WHERE kind IN ('timer', 'restore_end') AND (kind = 'restore_end' OR name = 'load-checkpoint')
  GROUP BY job, k, path
  HAVING bool_or(kind = 'timer' AND NOT dated) AND NOT bool_or(kind = 'restore_end' AND dated)
),
near AS (
  SELECT m.job, m.k, m.kind, m.name, m.duration_us, m.path || ':' || CAST(m.line AS VARCHAR) AS evidence,
    last_value(CASE WHEN m.dated THEN m.at_us END IGNORE NULLS) OVER (
      PARTITION BY m.job, m.k, m.path ORDER BY m.line ROWS UNBOUNDED PRECEDING) AS before_us,
    first_value(CASE WHEN m.dated THEN m.at_us END IGNORE NULLS) OVER (
      PARTITION BY m.job, m.k, m.path ORDER BY m.line ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_us
  FROM mark AS m JOIN loads AS l ON l.job = m.job AND l.k = m.k AND l.path = m.path
),
timed AS (
  -- a load without stamps took what its timer says, up to the next stamp
  SELECT * FROM near WHERE kind = 'timer' AND name = 'load-checkpoint' AND duration_us > 0
),
told AS (
  SELECT job, k, part, edge, at_us, dated, evidence, path, line FROM edged WHERE edge <> 'both'
),
tried AS (
  SELECT p.gid, t.at_us FROM told AS t JOIN _placed AS p ON p.job = t.job AND p.k = t.k WHERE t.part = 'evaluation'
),
mixed AS (
  SELECT gid, at_us, 1 AS edge FROM tried
  UNION ALL
  SELECT gid, end_us, 0 FROM _work WHERE gid IN (SELECT gid FROM tried)
),
beside AS (
  SELECT gid, at_us, edge, lag(edge) OVER w AS edge_back, lead(edge) OVER w AS edge_next FROM mixed WINDOW w AS (PARTITION BY gid ORDER BY at_us, edge)
),
lined AS (
  SELECT * FROM told
  UNION ALL
  -- an evaluation that only prints its results began with the last step line before it; lines that stand beside none tell nothing
  SELECT p.job, p.k, 'evaluation', 'line', b.at_us, FALSE, NULL, '', 0
  FROM beside AS b JOIN _placed AS p ON p.gid = b.gid
  WHERE b.edge = 0 AND (b.edge_back = 1 OR b.edge_next = 1)
),
turned AS (
  SELECT *, CASE WHEN edge <> 'end' AND coalesce(lag(edge) OVER w, 'end') <> 'begin'
    -- a checkpoint is loaded file by file: one load, unless a minute lies between
    AND NOT (part = 'restore' AND at_us - coalesce(lag(at_us) OVER w, 0) < 60000000) THEN 1 ELSE 0 END AS opens
  FROM lined
  WINDOW w AS (PARTITION BY job, k, part ORDER BY at_us, CASE edge WHEN 'line' THEN 0 WHEN 'begin' THEN 1 ELSE 2 END, path, line)
),
paired AS (
  SELECT *, sum(opens) OVER (PARTITION BY job, k, part ORDER BY at_us,
    CASE edge WHEN 'line' THEN 0 WHEN 'begin' THEN 1 ELSE 2 END, path, line ROWS UNBOUNDED PRECEDING) AS nth,
    row_number() OVER (PARTITION BY job, k, part ORDER BY at_us, CASE edge WHEN 'line' THEN 0 WHEN 'begin' THEN 1 ELSE 2 END, path, line) AS pos
  FROM turned
)
SELECT job, k, part, min(at_us) AS begin_us, max(CASE WHEN edge = 'end' THEN at_us END) AS end_us,
  NOT bool_and(dated) AS inferred, min_by(evidence, pos) AS evidence
FROM paired
WHERE nth > 0
GROUP BY job, k, part, nth
HAVING max(CASE WHEN edge = 'end' THEN at_us END) > min(at_us)
UNION ALL
SELECT job, k, part, at_us - duration_us, at_us, NOT dated, evidence
FROM edged
WHERE edge = 'both' AND duration_us > 0
UNION ALL
SELECT job, k, 'restore', greatest(next_us - duration_us, before_us), next_us, TRUE, evidence
FROM timed
WHERE next_us > before_us
