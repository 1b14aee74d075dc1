-- One row per interval of start-up between two of its marks.
-- needs: mark, _phase, _start, _lone, lifecycle_kind, lifecycle_part
-- job: job
-- k: number of the start in its job
-- part: the part that the later mark ends; else the one the earlier began, where the later begins another or it is a load or a compile; else other
-- begin_us: earlier mark
-- end_us: later mark
-- inferred: whether an instant is not printed
-- evidence: path and line of the later mark
WITH point AS (
  SELECT m.job, m.k, m.at_us, k.part, k.edge, m.dated AND l.job IS NULL AS dated, m.path || ':' || CAST(m.line AS VARCHAR) AS evidence, m.stream, m.part_no, m.line, 1 AS place
  FROM mark AS m
  JOIN lifecycle_kind AS k ON k.kind = m.kind
  JOIN lifecycle_part AS p ON p.part = k.part
  JOIN _phase AS h ON h.job = m.job AND h.k = m.k
  LEFT JOIN _lone AS l ON l.job = m.job AND l.k = m.k AND l.at_us = m.at_us
  WHERE (p.component = 'trainer_init' OR k.part = 'compile') AND k.edge IN ('begin', 'end')
    AND m.at_us >= h.begin_us AND m.at_us <= h.loop_us
  UNION ALL
  SELECT job, k, begin_us, 'other', '', TRUE, NULL, '', 0, 0, 0 FROM _phase
  UNION ALL
  -- where no step was made, start-up ends with the start: that is printed where its logs tell how it ended
  SELECT h.job, h.k, h.loop_us, 'other', 'end', coalesce(h.loop_dated, s.told), NULL, '', 0, 0, 2
  FROM _phase AS h JOIN _start AS s ON s.job = h.job AND s.k = h.k
),
tiled AS (
  SELECT job, k, part, edge, at_us, dated, evidence, lag(part) OVER w AS part_before, lag(edge) OVER w AS edge_before,
    lag(at_us) OVER w AS before_us, lag(dated) OVER w AS dated_before, lag(evidence) OVER w AS evidence_before
  FROM point
  -- of two events of one line that ends comes first, which begins behind it
  WINDOW w AS (PARTITION BY job, k ORDER BY at_us, place, stream, part_no, line, edge DESC, part)
)
SELECT job, k,
  CASE WHEN edge = 'end' AND part <> 'other' THEN part
    WHEN edge = 'begin' AND edge_before = 'begin' THEN part_before
    -- a load or a compile whose end no line tells goes on to the next mark
    WHEN edge_before = 'begin' AND part_before IN ('restore', 'compile') THEN part_before ELSE 'other' END AS part,
  before_us AS begin_us, at_us AS end_us, NOT (dated AND dated_before)
    OR (part = 'other' AND coalesce(edge_before = 'begin' AND part_before IN ('restore', 'compile'), FALSE)) AS inferred,
  coalesce(evidence, evidence_before) AS evidence
FROM tiled
WHERE at_us > before_us
