-- One row per source and outcome of a line: every line of every source is in exactly one of them.
-- needs: line_fact
-- key: content key of the source
-- path: path of the file below the folder that was ingested
-- outcome: what became of the lines: matched, ignored, unmatched, ...
-- lines: number of lines with this outcome
SELECT key, path, outcome, lines
FROM line_fact
