-- One row per stretch of lines of a file that stand in a log a second time and belong before a launch: what a collector sent twice.
-- needs: source, event, lifecycle_kind, _stream
-- key: content key of the source
-- from_line: first line of the stretch
-- to_line: its last line
-- A block that holds a launcher's line is sent twice: up to the line's copy, the copy tells of the start before. All that stands there
-- stands elsewhere too. Only a stamp makes a launcher's line recognisable. A log may be cut into files inside the copy: its lines are
-- counted through.
WITH part AS (
  SELECT s.key, s.stream, s.launches_before, f.n_lines, CAST(coalesce(sum(f.n_lines) OVER (
    PARTITION BY s.stream ORDER BY s.part_no ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS BIGINT) AS lines_before
  FROM _stream AS s JOIN source AS f ON f.key = s.key
),
opener AS (
  SELECT p.stream, p.lines_before + e.line AS line, p.launches_before + e.launch AS launch, e.ts, e.kind || ' ' || e.format || ' ' || e.pattern
    || ' ' || coalesce(CAST(e.rank AS VARCHAR), '') || ' ' || coalesce(e.node, '') || ' ' || coalesce(e.name, '') AS text
  FROM event AS e JOIN lifecycle_kind AS k ON k.kind = e.kind JOIN part AS p ON p.key = e.key
  WHERE k.opens > 0 AND e.ts IS NOT NULL AND e.clock NOT IN ('carried', 'none')
),
pair AS (
  SELECT a.stream, a.line AS line, min(b.line) AS again
  FROM opener AS a JOIN opener AS b ON b.stream = a.stream AND b.ts = a.ts AND b.text = a.text AND b.line > a.line AND b.launch > a.launch
  GROUP BY a.stream, a.line
),
block AS (
  SELECT stream, again, min(line) AS line FROM pair GROUP BY stream, again
),
inside AS (
  SELECT b.stream, b.line AS block_line, b.again, p.lines_before + e.line AS line, e.kind, e.pattern
  FROM block AS b JOIN part AS p ON p.stream = b.stream JOIN event AS e ON e.key = p.key
  WHERE p.lines_before + e.line > 2 * b.line - b.again AND p.lines_before + e.line < b.again
),
other AS (
  -- the last line between them that is not a copy of the line one block before
  SELECT i.stream, i.block_line AS line, i.again, max(i.line) AS last_line
  FROM inside AS i LEFT JOIN inside AS c ON c.stream = i.stream AND c.again = i.again AND c.line = i.line - (i.again - i.block_line)
    AND c.kind = i.kind AND c.pattern = i.pattern
  WHERE i.line > i.block_line AND c.stream IS NULL
  GROUP BY i.stream, i.block_line, i.again
),
stretch AS (
  SELECT b.stream, coalesce(o.last_line, b.line) + 1 AS from_line, b.again - 1 AS to_line
  FROM block AS b LEFT JOIN other AS o ON o.stream = b.stream AND o.line = b.line AND o.again = b.again
)
SELECT p.key, greatest(t.from_line - p.lines_before, 1) AS from_line, least(t.to_line - p.lines_before, p.n_lines) AS to_line
FROM stretch AS t JOIN part AS p ON p.stream = t.stream
WHERE t.from_line <= t.to_line AND t.from_line <= p.lines_before + p.n_lines AND t.to_line > p.lines_before
