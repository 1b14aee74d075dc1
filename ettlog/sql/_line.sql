-- One row per step line of a start, copies from several ranks joined, with the number of steps it covers.
-- needs: _walk, _placed, _stream
-- gid: number of the start over all jobs
-- jid: number of the first start of the job over all jobs
-- pass: 0, and one more each time the loop went back inside the process
-- step: step printed
-- covered: steps since the line before, at most a million; a first line covers the steps since the checkpoint, or one log interval
-- opens: whether it is the first line of its start
-- goes_on: whether a line of the same pass stands before it
-- at_us: instant of the line or of a dated line about the same step; never before that of the line before
-- dated: whether such a line holds an instant of its own
-- before_us: instant of the line before
-- total_us: printed duration of one step times the steps covered
-- samples: samples consumed up to the line, where they are printed and count over the whole job
-- samples_before: samples consumed before the line's first step
-- no: number of the source
-- line: line number in the source
WITH copied AS (SELECT DISTINCT gid FROM _walk WHERE step = step_before),
-- where instants only rise, the latest before a line is that of the line before, which costs a third of looking for it
fallen AS (SELECT DISTINCT gid FROM _walk WHERE at_us IS NULL OR at_us < at_back),
writer AS (SELECT no, part_no, min(no) OVER (PARTITION BY stream) AS log FROM _stream),
moved AS (
  SELECT gid, jid, c.no, line, c.log, c.part_no, rank, step, duration_us, own, ts, twin_us, at_us, samples, lag(step) OVER w AS step_back, lead(step) OVER w AS step_on, lead(ts) OVER w AS ts_on, max(CASE WHEN own THEN ts END) OVER (
      PARTITION BY gid, c.log, rank ORDER BY c.part_no, line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ts_back
  FROM _walk AS s JOIN writer AS c ON c.no = s.no
  WHERE gid IN (SELECT gid FROM copied) WINDOW w AS (PARTITION BY gid, c.log, rank ORDER BY c.part_no, line)
),
gait AS (SELECT gid, min(CASE WHEN step > step_back THEN step - step_back END) AS stride FROM moved GROUP BY gid),
passed AS (
  -- a writer's number falls, later than all before, and goes on from there in its usual stride: the loop went back. Copies of ranks
  -- that do not say who they are come interleaved, or with the stamps of the first ones
  SELECT m.*, sum(CASE WHEN m.own AND m.step < m.step_back AND m.ts > m.ts_back AND m.step_on - m.step BETWEEN 1 AND g.stride
      AND m.ts_on - m.ts >= 1000 THEN 1 ELSE 0 END) OVER (PARTITION BY m.gid, m.log, m.rank ORDER BY m.part_no, m.line ROWS UNBOUNDED PRECEDING) AS pass
  FROM moved AS m JOIN gait AS g ON g.gid = m.gid
),
ranked AS (
  -- the copy with the best instant stands for all; what it does not print, another one may
  SELECT *, coalesce(duration_us, max(duration_us) OVER (PARTITION BY gid, pass, step)) AS told_us,
    coalesce(samples, max(samples) OVER (PARTITION BY gid, pass, step)) AS told_samples, row_number() OVER (PARTITION BY gid, pass, step ORDER BY CASE WHEN ts IS NULL THEN 2 WHEN own THEN 0 ELSE 1 END, no, line) AS nth
  FROM passed
),
chosen AS (
  SELECT gid, jid, pass, step, no, line, told_us AS duration_us, own OR twin_us IS NOT NULL AS dated, max(at_us) OVER w AS at_us,
    max(at_us) OVER (PARTITION BY gid ORDER BY pass, step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_us,
    CASE WHEN lag(pass) OVER v = pass THEN lag(step) OVER v END AS step_before, lag(step) OVER v IS NULL AS opens,
    told_samples AS samples, CASE WHEN lag(pass) OVER v = pass THEN lag(told_samples) OVER v END AS samples_before
  FROM ranked WHERE nth = 1
  WINDOW w AS (PARTITION BY gid ORDER BY pass, step ROWS UNBOUNDED PRECEDING), v AS (PARTITION BY gid ORDER BY pass, step)
),
every AS (
  -- what one step consumes; a start whose samples do not grow with its steps, or miss a line, has none
  SELECT gid, jid, min(step - step_before) AS steps, CASE WHEN count(samples) = count(*) AND max(samples) > min(samples) AND max(samples) < 9000000000000
    THEN (max(samples) - min(samples)) // (max(step) - min(step)) END AS batch, min(step) AS first_step, max(CASE WHEN step_before IS NULL THEN samples END) AS first_samples
  FROM _walk WHERE gid NOT IN (SELECT gid FROM copied) GROUP BY gid, jid
  UNION ALL
  SELECT gid, jid, min(step - step_before), CASE WHEN count(samples) = count(*) AND max(samples) > min(samples) AND max(samples) < 9000000000000
    THEN (max(samples) - min(samples)) // (max(step) - min(step)) END, max(CASE WHEN opens THEN step END), max(CASE WHEN opens THEN samples END)
  FROM chosen GROUP BY gid, jid
),
usual AS (SELECT jid, max(steps) AS steps FROM every GROUP BY jid),
opened AS (
  SELECT e.*, coalesce(e.steps, u.steps, 1) AS stride,
    CASE WHEN p.resumed_from < e.first_step THEN least(e.first_step - p.resumed_from, 1000000)
      ELSE greatest(least(e.first_step, coalesce(e.steps, u.steps, 1), 1000000), 1) END AS first_covered
  FROM every AS e JOIN usual AS u ON u.jid = e.jid JOIN _placed AS p ON p.gid = e.gid
),
counting AS (
  -- a start that is not the first steps of its job and has consumed nothing before counts its own samples only
  SELECT jid, bool_and(coalesce(batch > 0 AND (first_step <= first_covered OR first_samples - batch * first_covered >= batch), FALSE)) AS counts
  FROM opened GROUP BY jid
),
start_of AS (SELECT o.gid, o.stride, o.first_covered, o.batch, c.counts FROM opened AS o JOIN counting AS c ON c.jid = o.jid),
ordered AS (
  SELECT gid, jid, CAST(0 AS BIGINT) AS pass, step, no, line, duration_us, own OR twin_us IS NOT NULL AS dated, at_us, at_back AS before_us, step_before, step_before IS NULL AS opens, samples, samples_before
  FROM _walk WHERE gid NOT IN (SELECT gid FROM copied) AND gid NOT IN (SELECT gid FROM fallen)
  UNION ALL
  SELECT gid, jid, 0, step, no, line, duration_us, own OR twin_us IS NOT NULL, max(at_us) OVER (PARTITION BY gid ORDER BY step, no, line ROWS UNBOUNDED PRECEDING),
    max(at_us) OVER (PARTITION BY gid ORDER BY step, no, line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), step_before, step_before IS NULL, samples, samples_before
  FROM _walk WHERE gid NOT IN (SELECT gid FROM copied) AND gid IN (SELECT gid FROM fallen)
  UNION ALL
  SELECT gid, jid, pass, step, no, line, duration_us, dated, at_us, before_us, step_before, opens, samples, samples_before FROM chosen
),
counted AS (
  SELECT o.*, s.batch, s.counts, CASE WHEN o.step_before IS NOT NULL THEN least(o.step - o.step_before, 1000000) WHEN o.opens THEN s.first_covered
      ELSE greatest(least(o.step, s.stride, 1000000), 1) END AS covered
  FROM ordered AS o JOIN start_of AS s ON s.gid = o.gid
)
SELECT gid, jid, pass, step, covered, opens, step_before IS NOT NULL AS goes_on, at_us, dated, before_us, CASE WHEN duration_us <= 864000000000 THEN duration_us * covered END AS total_us,
  CASE WHEN counts THEN samples END AS samples, CASE WHEN counts THEN coalesce(samples_before, CASE WHEN batch > 0 THEN samples - batch * covered END) END AS samples_before, no, line
FROM counted
