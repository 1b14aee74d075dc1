-- One row per launch of one stream with step lines: what they span. Lines that were sent twice count once.
-- needs: step, _stepped, _stream, _again
-- stream: the log
-- launch: number of the launch in the stream
-- first_step: first step printed
-- last_step: last step printed
-- step_lines: number of step lines
-- first_us: first instant
-- last_us: instant of the last step line
-- last_place: where it stands in the log: its part times 2^32, and its line
WITH twice AS (
  SELECT DISTINCT key FROM _again
),
once AS (
  SELECT s.stream, s.launches_before + t.launch AS launch, t.first_step, t.last_step, t.step_lines, t.first_us, t.last_us,
    s.part_no * CAST(4294967296 AS BIGINT) + t.last_line AS last_place
  FROM _stepped AS t JOIN _stream AS s ON s.key = t.key LEFT JOIN twice AS w ON w.key = t.key
  WHERE w.key IS NULL
  UNION ALL
  -- only where lines were sent twice each of them is looked at
  SELECT s.stream, s.launches_before + t.launch, t.step, t.step, 1, t.ts, t.ts, s.part_no * CAST(4294967296 AS BIGINT) + t.line
  FROM step AS t JOIN twice AS w ON w.key = t.key JOIN _stream AS s ON s.key = t.key
  LEFT JOIN _again AS r ON r.key = t.key AND t.line BETWEEN r.from_line AND r.to_line
  WHERE r.key IS NULL
)
SELECT stream, launch, min(first_step) AS first_step, max(last_step) AS last_step, CAST(sum(step_lines) AS BIGINT) AS step_lines,
  min(first_us) AS first_us, max(last_us) AS last_us, max(last_place) AS last_place
FROM once
GROUP BY stream, launch
