-- One row per launch of a source whose progress bar counts the steps that it passed over when it went on as done in its first one.
-- needs: event, step, _stepped
-- key: content key of the source
-- launch: number of the launch in the source
-- from_step: first step printed
-- until_step: up to here the printed duration of a step, a moving mean over those steps too, is too short
-- steady_us: the duration that it rose to
-- begin_us: where no line of them holds an instant of its own, the first step begins; else null
-- lag_us: by how much undated lines behind them are too early
-- until_line: last of these lines
-- next_line: first event line behind the first step that holds an instant of its own
-- next_us: its instant
-- The printed duration rises from line to line, to four times what it was and more: no trainer's own timer does that. Seven tenths of the
-- error are left after each line, so sixty-four lines hold it whatever the number of steps passed over.
WITH near AS (
  SELECT t.key, t.launch, t.step, min(t.line) AS line, min(t.ts) AS ts, max(t.duration_us) AS duration_us,
    bool_or(t.ts IS NOT NULL AND t.clock NOT IN ('carried', 'none')) AS dated
  FROM step AS t JOIN _stepped AS s ON s.key = t.key AND s.launch = t.launch
  -- hardly a launch is like that: then the step lines are not read again
  WHERE s.first_step > 1 AND s.most_took_us >= 4000 * s.first_took_ms AND t.step < s.first_step + 64 AND t.duration_us BETWEEN 1 AND 864000000000
  GROUP BY t.key, t.launch, t.step
),
grown AS (
  SELECT *, CASE WHEN duration_us <= lag(duration_us) OVER w THEN 1 ELSE 0 END AS falls FROM near WINDOW w AS (PARTITION BY key, launch ORDER BY step)
),
rising AS (
  SELECT *, sum(falls) OVER (PARTITION BY key, launch ORDER BY step ROWS UNBOUNDED PRECEDING) AS fallen FROM grown
),
risen AS (
  SELECT key, launch, min(step) AS from_step, max(step) - 1 AS until_step, max(duration_us) AS steady_us, min(line) AS from_line,
    min_by(ts - duration_us, step) AS begin_us, max(line) AS until_line, bool_or(dated) AS dated, CAST(sum(duration_us) AS BIGINT) AS told_us
  FROM rising WHERE fallen = 0
  GROUP BY key, launch
  HAVING count(*) >= 5 AND max(duration_us) >= 4 * min_by(duration_us, step)
),
dated AS (
  SELECT r.key, r.launch, min(e.line) AS line, min_by(e.ts, e.line) AS ts
  FROM risen AS r JOIN event AS e ON e.key = r.key AND e.line > r.from_line
  WHERE e.ts IS NOT NULL AND e.clock NOT IN ('carried', 'none')
  GROUP BY r.key, r.launch
)
SELECT r.key, r.launch, r.from_step, r.until_step, r.steady_us, CASE WHEN NOT r.dated THEN r.begin_us END AS begin_us,
  CASE WHEN NOT r.dated THEN greatest((r.until_step - r.from_step + 2) * r.steady_us - r.told_us, 0) END AS lag_us, r.until_line, d.line AS next_line, d.ts AS next_us
FROM risen AS r LEFT JOIN dated AS d ON d.key = r.key AND d.launch = r.launch
