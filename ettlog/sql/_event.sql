-- One row per event, its launch numbered over the whole stream, undated lines given a neighbour's instant.
-- needs: event, step, _stepped, _stream, _again, _ramp, _lent
-- key: content key of the source
-- path: path of the file
-- stream: the log the source is a part of
-- part_no: position of the part in its stream
-- line: line number in the source
-- launch: number of the launch in the stream; 0 before the first
-- at_us: instant; of an undated line that of the dated line before it in its launch, else of the one after it
-- dated: whether the line holds an instant of its own, and no other line's
-- kind: what the line says
-- rank: rank that wrote the line, where it says so
-- node: node that wrote the line, where it says so
-- step: step the line speaks of
-- target: last step the run aims at
-- duration_us: duration printed on the line
-- world: world size printed on the line
-- code: exit code
-- cause: cause of a failure
-- name: what the line is about
WITH head AS (
  -- a later part of a log may begin with undated lines: read alone they carry the first stamp behind them
  SELECT e.key, min(e.line) AS line, min_by(e.ts, e.line) AS ts
  FROM event AS e JOIN _stream AS s ON s.key = e.key
  WHERE s.part_no > 1 AND e.ts IS NOT NULL AND e.clock NOT IN ('carried', 'none')
  GROUP BY e.key
),
placed AS (
  SELECT
    e.key, s.path, s.stream, s.part_no, e.line, s.launches_before + e.launch AS launch,
    CASE WHEN e.clock = 'carried' AND e.launch = 0 AND e.line < h.line AND e.ts >= h.ts THEN NULL
      WHEN e.clock = 'carried' AND e.line > b.until_line AND e.line < coalesce(b.next_line, e.line + 1) THEN least(e.ts + b.lag_us, b.next_us) ELSE e.ts END AS ts,
    e.ts IS NOT NULL AND e.clock NOT IN ('carried', 'none') AND t.key IS NULL AS dated,
    e.kind, e.rank, e.node, e.step, e.target, e.duration_us, e.world, e.code, e.cause, e.name
  FROM event AS e
  JOIN _stream AS s ON s.key = e.key
  LEFT JOIN head AS h ON h.key = e.key
  LEFT JOIN _lent AS t ON t.key = e.key AND t.line = e.line
  LEFT JOIN _again AS r ON r.key = e.key AND e.line BETWEEN r.from_line AND r.to_line
  LEFT JOIN _ramp AS b ON b.key = e.key AND b.launch = e.launch AND b.lag_us > 0
  WHERE r.key IS NULL
),
opened AS (
  -- a later launch's lines before its first stamp carry one of the launch before: they belong to its own first stamp
  SELECT stream, launch, part_no, line, ts, row_number() OVER (PARTITION BY stream, launch ORDER BY part_no) AS nth
  FROM (SELECT stream, launch, part_no, min(line) AS line, min_by(ts, line) AS ts FROM (
    SELECT stream, launch, part_no, line, ts FROM placed WHERE dated
    UNION ALL
    SELECT s.stream, s.launches_before + t.launch, s.part_no, t.dated_line, t.dated_us
    FROM _stepped AS t JOIN _stream AS s ON s.key = t.key
    WHERE t.dated_line IS NOT NULL
  ) AS stamped WHERE launch > 1 GROUP BY stream, launch, part_no) AS parts
),
undated AS (
  SELECT DISTINCT stream, launch FROM placed WHERE ts IS NULL
),
timed AS (
  SELECT p.key, p.stream, p.launch, p.part_no, p.line, p.ts
  FROM placed AS p
  JOIN undated AS u ON u.stream = p.stream AND u.launch = p.launch
  UNION ALL
  SELECT t.key, s.stream, s.launches_before + t.launch, s.part_no, t.line, t.ts
  FROM step AS t
  JOIN _stream AS s ON s.key = t.key
  JOIN undated AS u ON u.stream = s.stream AND u.launch = s.launches_before + t.launch
  WHERE t.ts IS NOT NULL
),
near AS (
  SELECT
    key, line, ts,
    last_value(ts IGNORE NULLS) OVER (
      PARTITION BY stream, launch ORDER BY part_no, line ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before_us,
    first_value(ts IGNORE NULLS) OVER (
      PARTITION BY stream, launch ORDER BY part_no, line ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS after_us
  FROM timed
)
SELECT
  p.key, p.path, p.stream, p.part_no, p.line, p.launch,
  CASE WHEN p.part_no < o.part_no OR (p.part_no = o.part_no AND p.line < o.line) THEN o.ts
    ELSE coalesce(p.ts, n.before_us, n.after_us) END AS at_us, p.dated,
  p.kind, p.rank, p.node, p.step, p.target, p.duration_us, p.world, p.code, p.cause, p.name
FROM placed AS p
LEFT JOIN near AS n ON n.key = p.key AND n.line = p.line AND n.ts IS NULL AND p.ts IS NULL
LEFT JOIN opened AS o ON o.stream = p.stream AND o.launch = p.launch AND o.nth = 1
