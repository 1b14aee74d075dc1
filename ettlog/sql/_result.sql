-- One row per evaluation result that is printed without a stamp: the next thing that is dated.
-- needs: mark, _work, _placed
-- path: path of the file
-- line: line number in the source
-- next_us: first stamp, or first begin of a step, behind it
-- It was printed between the stamps around it, and what came before it is the evaluation.
WITH undated AS (
  SELECT DISTINCT job, k FROM mark WHERE kind = 'evaluation_end' AND NOT dated
),
worked AS (
  SELECT p.job, p.k, w.step, w.begin_us, w.end_us
  FROM _work AS w JOIN _placed AS p ON p.gid = w.gid JOIN undated AS u ON u.job = p.job AND u.k = p.k
),
seat AS (
  -- where another log holds the steps, a result that names its step was printed behind that step's line
  SELECT job, k, step, max(end_us) AS at_us FROM worked GROUP BY job, k, step
),
instant AS (
  SELECT m.job, m.k, m.path, m.line, greatest(m.at_us, s.at_us) AS at_us, CASE WHEN m.dated THEN m.at_us END AS stamp_us,
    CASE WHEN m.dated THEN 0 ELSE 1 END AS place, m.kind = 'evaluation_end' AND NOT m.dated AS asks
  FROM mark AS m JOIN undated AS u ON u.job = m.job AND u.k = m.k
  LEFT JOIN seat AS s ON s.job = m.job AND s.k = m.k AND s.step = m.step AND m.kind = 'evaluation_end' AND NOT m.dated
  UNION ALL
  SELECT job, k, NULL, NULL, begin_us, begin_us, 0, FALSE FROM worked
),
bound AS (
  SELECT path, line, asks, first_value(stamp_us IGNORE NULLS) OVER (
    PARTITION BY job, k ORDER BY at_us, place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_us
  FROM instant
)
SELECT path, line, next_us FROM bound WHERE asks
