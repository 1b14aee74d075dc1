-- One row per step line of a start, copies from several ranks included, with the line before it in the order of the steps.
-- needs: step, _stepped, _stream, _again, _ramp, launch, mark
-- gid: number of the start over all jobs
-- jid: number of the first start of the job over all jobs
-- no: number of the source
-- line: line number in the source
-- rank: rank that wrote the line, where it says so
-- step: step printed
-- duration_us: printed duration of one step, where it is that of the step
-- own: whether the line holds an instant of its own; where nine of ten lines of its launch in the source hold none, the few stamps are of lines that
-- were broken into
-- ts: its instant
-- twin_us: instant of a dated line about the same step
-- at_us: instant of the line or of its twin
-- samples: samples consumed so far, where printed
-- step_before: step of the line before
-- samples_before: samples of the line before
-- at_back: instant of the line before
WITH twin AS (
  SELECT gid, step, min(at_us) AS at_us FROM mark WHERE kind = 'step_twin' AND dated GROUP BY gid, step
),
seat AS (
  SELECT s.key, l.launch - s.launches_before AS launch, l.gid, l.gid - l.k AS jid, s.no, coalesce(t.dated_lines * 10 <= t.step_lines, FALSE) AS lends
  FROM _stream AS s JOIN launch AS l ON l.stream = s.stream
  LEFT JOIN _stepped AS t ON t.key = s.key AND t.launch = l.launch - s.launches_before
),
placed AS (
  SELECT l.gid, l.jid, l.no, t.line, t.step, CASE WHEN t.duration_us > 0 AND NOT coalesce(t.step <= b.until_step, FALSE) THEN t.duration_us END AS duration_us,
    coalesce(t.ts IS NOT NULL AND t.clock NOT IN ('carried', 'none'), FALSE) AND NOT l.lends AS own,
    CASE WHEN b.lag_us IS NULL OR t.ts IS NULL OR t.line > b.next_line THEN t.ts
      ELSE least(CASE WHEN t.step <= b.until_step THEN b.begin_us + (t.step - b.from_step + 1) * b.steady_us ELSE t.ts + b.lag_us END, b.next_us) END AS ts, w.at_us AS twin_us, t.samples, t.rank
  FROM step AS t JOIN seat AS l ON l.key = t.key AND l.launch = t.launch
  LEFT JOIN twin AS w ON w.gid = l.gid AND w.step = t.step LEFT JOIN _again AS r ON r.key = t.key AND t.line BETWEEN r.from_line AND r.to_line
  LEFT JOIN _ramp AS b ON b.key = t.key AND b.launch = t.launch
  WHERE t.step IS NOT NULL AND r.key IS NULL
),
timed AS (
  SELECT *, coalesce(CASE WHEN own THEN ts END, twin_us, ts) AS at_us FROM placed
)
-- one sort of all lines for all that is asked of their neighbours: it is the whole order of starts without copies, which are most
SELECT gid, jid, no, line, rank, step, duration_us, own, ts, twin_us, at_us, samples, lag(step) OVER w AS step_before,
  lag(samples) OVER w AS samples_before, lag(at_us) OVER w AS at_back
FROM timed
WINDOW w AS (PARTITION BY gid ORDER BY step, no, line)
