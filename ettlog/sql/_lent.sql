-- One row per event whose stamp may be that of a line which it broke into: right behind it stands a line without a stamp that has one everywhere else.
-- needs: event, _stream
-- key: content key of the source
-- line: line number in the source
WITH told AS (
  SELECT e.key, s.name, e.line, e.format, e.pattern, e.ts IS NOT NULL AND e.clock NOT IN ('carried', 'none') AS dated
  FROM event AS e JOIN _stream AS s ON s.key = e.key
),
usual AS (
  -- three of four lines of its like in its job
  SELECT name, format, pattern FROM told
  GROUP BY name, format, pattern
  HAVING count(CASE WHEN NOT dated THEN 1 END) > 0 AND count(CASE WHEN dated THEN 1 END) >= 3 * count(CASE WHEN NOT dated THEN 1 END)
)
SELECT DISTINCT t.key, t.line - 1 AS line
FROM told AS t JOIN usual AS u ON u.name = t.name AND u.format = t.format AND u.pattern = t.pattern
WHERE NOT t.dated
