-- One row per step line of a start, copies from several ranks joined, with the number of steps it covers.
-- needs: step, _stream, _again, launch, mark, _placed
-- gid: number of the start over all jobs
-- jid: number of the first start of the job over all jobs
-- pass: 0, and one more each time the loop went back inside the process
-- step: step printed
-- covered: steps since the line before; a first line covers the steps since the checkpoint, or one log interval
-- opens: whether it is the first line of its start
-- at_us: instant of the line or of a dated line about the same step; never before that of the line before
-- dated: whether such a line holds an instant of its own
-- before_us: instant of the line before
-- total_us: printed duration of one step times the steps covered
-- samples: samples consumed up to the line, where they are printed and count over the whole job
-- samples_before: samples consumed before the line's first step
-- no: number of the source
-- line: line number in the source
-- Starts and sources are numbers here, not names: these are the rows that there may be millions of.
WITH twin AS (
  SELECT gid, step, min(at_us) AS at_us FROM mark WHERE kind = 'step_twin' AND dated GROUP BY gid, step
),
placed AS (
  SELECT l.gid, l.gid - l.k AS jid, s.no, t.line, t.step, CASE WHEN t.duration_us > 0 THEN t.duration_us END AS duration_us,
    t.ts IS NOT NULL AND t.clock NOT IN ('carried', 'none') AS own, t.ts, w.at_us AS twin_us, t.samples, t.rank
  FROM step AS t JOIN _stream AS s ON s.key = t.key
  JOIN launch AS l ON l.stream = s.stream AND l.launch = s.launches_before + t.launch
  LEFT JOIN twin AS w ON w.gid = l.gid AND w.step = t.step LEFT JOIN _again AS r ON r.key = t.key AND t.line BETWEEN r.from_line AND r.to_line
  WHERE t.step IS NOT NULL AND r.key IS NULL
),
copied AS (
  -- most starts have no copies: sorting a million rows for nothing took a third of the time
  SELECT gid FROM placed GROUP BY gid HAVING count(*) <> count(DISTINCT step)
),
moved AS (
  SELECT *, lag(step) OVER w AS step_back, lead(step) OVER w AS step_on, lead(ts) OVER w AS ts_on, max(CASE WHEN own THEN ts END) OVER (
      PARTITION BY gid, no, rank ORDER BY line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ts_back
  FROM placed WHERE gid IN (SELECT gid FROM copied) WINDOW w AS (PARTITION BY gid, no, rank ORDER BY line)
),
gait AS (SELECT gid, min(CASE WHEN step > step_back THEN step - step_back END) AS stride FROM moved GROUP BY gid),
passed AS (
  -- a writer's number falls, later than all before, and goes on from there in its usual stride: the loop went back. Copies of ranks
  -- that do not say who they are come interleaved, or with the stamps of the first ones
  SELECT m.*, sum(CASE WHEN m.own AND m.step < m.step_back AND m.ts > m.ts_back AND m.step_on - m.step BETWEEN 1 AND g.stride
      AND m.ts_on - m.ts >= 1000 THEN 1 ELSE 0 END) OVER (PARTITION BY m.gid, m.no, m.rank ORDER BY m.line ROWS UNBOUNDED PRECEDING) AS pass
  FROM moved AS m JOIN gait AS g ON g.gid = m.gid
),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY gid, pass, step
    ORDER BY CASE WHEN ts IS NULL THEN 2 WHEN own THEN 0 ELSE 1 END, no, line) AS nth
  FROM passed
),
single AS (
  SELECT gid, jid, CAST(0 AS BIGINT) AS pass, no, line, step, duration_us, own, coalesce(CASE WHEN own THEN ts END, twin_us, ts) AS ts, twin_us, samples
  FROM placed WHERE gid NOT IN (SELECT gid FROM copied)
  UNION ALL
  SELECT gid, jid, pass, no, line, step, duration_us, own, coalesce(CASE WHEN own THEN ts END, twin_us, ts), twin_us, samples
  FROM ranked WHERE nth = 1
),
ordered AS (
  SELECT gid, jid, pass, step, no, line, duration_us, own OR twin_us IS NOT NULL AS dated, max(ts) OVER w AS at_us,
    max(ts) OVER (PARTITION BY gid ORDER BY pass, step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_us,
    CASE WHEN lag(pass) OVER v = pass THEN lag(step) OVER v END AS step_before, lag(step) OVER v IS NULL AS opens,
    samples, CASE WHEN lag(pass) OVER v = pass THEN lag(samples) OVER v END AS samples_before
  FROM single WINDOW w AS (PARTITION BY gid ORDER BY pass, step ROWS UNBOUNDED PRECEDING), v AS (PARTITION BY gid ORDER BY pass, step)
),
every AS (
  -- what one step consumes; a start whose samples do not grow with its steps, or miss a line, has none
  SELECT gid, jid, min(step - step_before) AS steps, CASE WHEN count(samples) = count(*) AND max(samples) > min(samples)
    THEN (max(samples) - min(samples)) // (max(step) - min(step)) END AS batch
  FROM ordered GROUP BY gid, jid
),
usual AS (SELECT jid, max(steps) AS steps FROM every GROUP BY jid),
counted AS (
  SELECT o.*, e.batch, CASE
      WHEN o.step_before IS NOT NULL THEN o.step - o.step_before
      WHEN o.opens AND p.resumed_from < o.step THEN o.step - p.resumed_from
      ELSE greatest(least(o.step, coalesce(e.steps, u.steps, 1)), 1) END AS covered
  FROM ordered AS o
  JOIN every AS e ON e.gid = o.gid JOIN usual AS u ON u.jid = o.jid
  JOIN _placed AS p ON p.gid = o.gid
),
consumed AS (
  SELECT *, coalesce(samples_before, CASE WHEN batch > 0 THEN samples - batch * covered END) AS from_samples,
    -- a start that is not the first steps of its job and has consumed nothing before counts its own samples only
    bool_and(coalesce(batch > 0 AND (step_before IS NOT NULL OR NOT opens OR step <= covered OR samples - batch * covered >= batch), FALSE))
      OVER (PARTITION BY jid) AS counts
  FROM counted
)
SELECT gid, jid, pass, step, covered, opens, at_us, dated, before_us, duration_us * covered AS total_us,
  CASE WHEN counts THEN samples END AS samples, CASE WHEN counts THEN from_samples END AS samples_before, no, line
FROM consumed
