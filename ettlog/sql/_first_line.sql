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
numbered AS (
  SELECT job, k, path || ':' || CAST(line AS VARCHAR) AS evidence,
    row_number() OVER (PARTITION BY job, k ORDER BY at_us NULLS LAST, part_no, path, line) AS nth
  FROM told
)
SELECT job, k, evidence FROM numbered WHERE nth = 1
