-- One row per stretch of lines that stand in a log a second time and belong before a launch: what a collector sent twice.
-- needs: event, lifecycle_kind
-- key: content key of the source
-- from_line: first line of the stretch
-- to_line: its last line
-- A block that holds a launcher's line is sent twice: up to the line's copy, the copy tells of the start before. All that stands there
-- stands elsewhere too. Only a stamp makes a launcher's line recognisable.
WITH opener AS (
  SELECT e.key, e.line, e.launch, e.ts, e.kind || ' ' || e.format || ' ' || e.pattern || ' ' || coalesce(CAST(e.rank AS VARCHAR), '')
    || ' ' || coalesce(e.node, '') || ' ' || coalesce(e.name, '') AS text
  FROM event AS e JOIN lifecycle_kind AS k ON k.kind = e.kind
  WHERE k.opens > 0 AND e.ts IS NOT NULL AND e.clock NOT IN ('carried', 'none')
),
pair AS (
  SELECT a.key, a.line AS line, min(b.line) AS again
  FROM opener AS a JOIN opener AS b ON b.key = a.key AND b.ts = a.ts AND b.text = a.text AND b.line > a.line AND b.launch > a.launch
  GROUP BY a.key, a.line
),
block AS (
  SELECT key, again, min(line) AS line FROM pair GROUP BY key, again
),
other AS (
  -- the last line between them that is not a copy of the line one block before
  SELECT b.key, b.line, b.again, max(e.line) AS last_line
  FROM block AS b JOIN event AS e ON e.key = b.key AND e.line > b.line AND e.line < b.again
  LEFT JOIN event AS c ON c.key = e.key AND c.line = e.line - (b.again - b.line) AND c.kind = e.kind AND c.pattern = e.pattern
  WHERE c.key IS NULL
  GROUP BY b.key, b.line, b.again
)
SELECT b.key, coalesce(o.last_line, b.line) + 1 AS from_line, b.again - 1 AS to_line
FROM block AS b LEFT JOIN other AS o ON o.key = b.key AND o.line = b.line AND o.again = b.again
WHERE b.again - 1 > coalesce(o.last_line, b.line)
