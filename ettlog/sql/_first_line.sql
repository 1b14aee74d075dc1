-- One row per start: the first line that tells of it.
-- needs: mark, _stepped, _stream, launch
-- job: job
-- k: number of the start in its job
-- evidence: path and line
WITH told AS (
  SELECT job, k, path, part_no, line, at_us FROM mark
  UNION ALL
  -- what was collected of a log may begin with a step
  SELECT l.job, l.k, c.path, c.part_no, t.dated_line, t.dated_us
  FROM _stepped AS t JOIN _stream AS c ON c.key = t.key JOIN launch AS l ON l.stream = c.stream AND l.launch = c.launches_before + t.launch
  WHERE t.dated_line IS NOT NULL
),
begun AS (SELECT job, k, min(at_us) AS at_us FROM told GROUP BY job, k),
numbered AS (
  -- of all lines only those of the first instant are put in order
  SELECT t.job, t.k, t.path || ':' || CAST(t.line AS VARCHAR) AS evidence, row_number() OVER (PARTITION BY t.job, t.k ORDER BY t.part_no, t.path, t.line) AS nth
  FROM told AS t JOIN begun AS b ON b.job = t.job AND b.k = t.k AND (t.at_us = b.at_us OR b.at_us IS NULL)
)
SELECT job, k, evidence FROM numbered WHERE nth = 1
