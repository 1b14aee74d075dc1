-- The outcomes of a source's lines do not add up to its lines.
-- needs: source, line_stat
-- level: error
-- todo: report it with the file: ettlog lost count of lines
-- subject: path
-- detail: lines of the file, and lines accounted for
SELECT s.path AS subject, CAST(s.n_lines AS VARCHAR) || ' lines, ' || CAST(coalesce(sum(l.lines), 0) AS VARCHAR) || ' accounted for' AS detail
FROM source AS s
LEFT JOIN line_stat AS l ON l.key = s.key
GROUP BY s.key, s.path, s.n_lines
HAVING coalesce(sum(l.lines), 0) <> s.n_lines
