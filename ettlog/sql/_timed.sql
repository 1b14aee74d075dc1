-- One row per evaluation that prints what it took and not when it began, where that is a stretch of the clock.
-- needs: mark, _work, _stream
-- job: job
-- k: number of the start in its job
-- part: what went on
-- begin_us: as much before the end as it took
-- end_us: its result is printed
-- inferred: whether the instant is not printed
-- evidence: path and line of the result
-- path: path of the file
-- line: line number in the source
-- A result without a stamp has the instant of a neighbour, to which the evaluation has added nothing; told on the line of a step it lies in
-- the time that this line stands for.
WITH lined AS (
  SELECT DISTINCT c.path, w.line FROM _work AS w JOIN _stream AS c ON c.no = w.no
  WHERE c.path IN (SELECT path FROM mark WHERE kind = 'evaluation_end' AND duration_us > 0 AND NOT dated)
)
SELECT m.job, m.k, 'evaluation' AS part, m.at_us - m.duration_us AS begin_us, m.at_us AS end_us, NOT m.dated AS inferred,
  m.path || ':' || CAST(m.line AS VARCHAR) AS evidence, m.path, m.line
FROM mark AS m LEFT JOIN lined AS s ON s.path = m.path AND s.line = m.line
WHERE m.kind = 'evaluation_end' AND m.duration_us > 0 AND m.at_us IS NOT NULL AND (m.dated OR s.line IS NOT NULL)
  AND m.path NOT IN (SELECT path FROM mark WHERE kind = 'evaluation_begin')
