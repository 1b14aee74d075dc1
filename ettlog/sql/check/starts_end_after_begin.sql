-- A start ends before it begins.
-- needs: _start, _placed
-- level: error
-- todo: a stamp of the end lies before the first line: look at both lines for a clock that jumped
-- subject: job and number of the start
-- detail: by how much
SELECT s.job || ' start ' || CAST(s.k AS VARCHAR) AS subject,
  'ends ' || CAST(p.first_us - s.ended_us AS VARCHAR) || ' us before its first line' AS detail
FROM _start AS s
JOIN _placed AS p ON p.job = s.job AND p.k = s.k
-- stamps of whole seconds may lie up to a second before the finer ones around them
WHERE s.ended_us < p.first_us - 1000000
