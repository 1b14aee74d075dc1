-- One row per launch of a source with step lines: what they span.
-- needs: step
-- key: content key of the source
-- launch: number of the launch in the source
-- first_step: first step printed
-- last_step: last step printed
-- step_lines: number of step lines
-- first_us: first instant
-- last_us: last instant
-- last_line: last step line
-- first_took_ms: duration that the first step prints, in whole milliseconds up to 1,048,575
-- most_took_us: longest duration printed
-- dated_lines: number of lines with an instant of their own
-- dated_line: first line with an instant of its own
-- dated_us: its instant
-- Each step line is read here once, for all that asks no more of it.
SELECT key, launch, min(step) AS first_step, max(step) AS last_step, count(*) AS step_lines, min(ts) AS first_us, max(ts) AS last_us, max(line) AS last_line,
  -- copies of the first step may print several: the shortest, whatever the order of the rows
  min(least(greatest(step, 0), 4398046511104) * 1048576 + least(duration_us // 1000, 1048575)) % 1048576 AS first_took_ms, max(duration_us) AS most_took_us,
  count(*) FILTER (WHERE ts IS NOT NULL AND clock NOT IN ('carried', 'none')) AS dated_lines,
  min(line) FILTER (WHERE ts IS NOT NULL AND clock NOT IN ('carried', 'none')) AS dated_line,
  min_by(ts, line) FILTER (WHERE ts IS NOT NULL AND clock NOT IN ('carried', 'none')) AS dated_us
FROM step
GROUP BY key, launch
