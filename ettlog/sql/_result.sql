-- One row per evaluation result that is printed without a stamp: the next thing that is dated.
-- needs: mark, _work, _placed
-- path: path of the file
-- line: line number in the source
-- next_us: first stamp, or first begin of a step, behind it
-- It was printed between the stamps around it, and what came before it is the evaluation.
WITH undated AS (
  SELECT DISTINCT p.gid, m.job, m.k FROM mark AS m JOIN _placed AS p ON p.job = m.job AND p.k = m.k
  WHERE m.kind = 'evaluation_end' AND NOT m.dated
),
tried AS (
  SELECT u.gid, m.path, m.line, m.at_us, m.dated, m.step, m.kind = 'evaluation_end' AND NOT m.dated AS asks
  FROM mark AS m JOIN undated AS u ON u.job = m.job AND u.k = m.k
),
worked AS (
  SELECT gid, step, begin_us, end_us FROM _work WHERE gid IN (SELECT gid FROM undated)
),
seat AS (
  -- where another log holds the steps, a result that names its step was printed behind that step's line
  SELECT w.gid, w.step, max(w.end_us) AS at_us
  FROM worked AS w JOIN (SELECT DISTINCT gid, step FROM tried WHERE asks) AS a ON a.gid = w.gid AND a.step = w.step GROUP BY w.gid, w.step
),
instant AS (
  SELECT t.gid, t.path, t.line, greatest(t.at_us, s.at_us) AS at_us, CASE WHEN t.dated THEN t.at_us END AS stamp_us,
    CASE WHEN t.dated THEN 0 ELSE 1 END AS place, t.asks
  FROM tried AS t LEFT JOIN seat AS s ON s.gid = t.gid AND s.step = t.step AND t.asks
  UNION ALL
  SELECT gid, NULL, NULL, begin_us, begin_us, 0, FALSE FROM worked
),
bound AS (
  SELECT path, line, asks, first_value(stamp_us IGNORE NULLS) OVER (
    PARTITION BY gid ORDER BY at_us, place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_us
  FROM instant
)
SELECT path, line, next_us FROM bound WHERE asks
