-- One row per pass of a start: all that its step lines are judged by and that does not lie in them.
-- needs: _line, _steady, _placed, _start, _save, mark, lifecycle_kind, lifecycle_part
-- gid: number of the start over all jobs
-- pass: 0, and one more each time the loop went back inside the process
-- high: last step of the job before the pass; -1 where there was none
-- high_samples: samples consumed before the pass, where they are printed and count over the whole job
-- uneven: whether the samples fall inside the pass
-- steady_us: duration of a steady step
-- warm_us: the time of the first line of the start begins
-- warm_work_us: its steps' own work begins
-- stride: least number of steps that a line of the start covers
-- gone: whether the job never came back
-- safe_step: last step of the job that a checkpoint protects
-- doubt_step: up to here steps may have been made before, by a start whose logs break off
-- late: whether start-up went on in the work of the first line, or may have, or steps before it are missing
WITH compiled AS (SELECT gid, at_us FROM mark WHERE kind IN ('compile', 'compile_end')),
summed AS (
  SELECT gid, max(step) AS last_step, max(at_us) AS last_us, min(CASE WHEN NOT opens AND at_us IS NOT NULL THEN covered END) AS stride
  FROM _line GROUP BY gid
),
opened AS (
  -- a log that begins with a step line was cut: what the line says it took lies before it
  SELECT l.gid, l.at_us, s.steady_us * l.covered AS steady_us, CASE WHEN p.first_us >= l.at_us AND l.total_us > 0 THEN l.at_us - l.total_us
    ELSE greatest(l.at_us - coalesce(l.total_us, CASE WHEN p.train_us <= l.at_us THEN l.at_us - p.train_us END, s.steady_us * l.covered, 0),
      least(p.first_us, l.at_us)) END AS begin_us
  FROM _line AS l JOIN _steady AS s ON s.gid = l.gid JOIN _placed AS p ON p.gid = l.gid
  WHERE l.opens AND l.at_us IS NOT NULL
),
warm AS (
  -- an explicit compile inside the first step is better evidence than the estimate: the step begins behind it
  SELECT b.gid, max(c.at_us) AS compiled_us
  FROM opened AS b JOIN compiled AS c ON c.gid = b.gid
  WHERE c.at_us > b.begin_us AND c.at_us < b.at_us
  GROUP BY b.gid
),
warmed AS (
  SELECT b.gid, b.at_us, coalesce(w.compiled_us, b.begin_us) AS warm_us, greatest(coalesce(w.compiled_us, b.begin_us),
    CASE WHEN b.steady_us IS NULL THEN b.begin_us ELSE b.at_us - b.steady_us END) AS work_us
  FROM opened AS b LEFT JOIN warm AS w ON w.gid = b.gid
),
went AS (
  SELECT jid, gid, pass, max(step) AS step, max(samples) AS samples, coalesce(min(CASE WHEN goes_on THEN samples - samples_before END) < 0, FALSE) AS uneven
  FROM _line WHERE at_us IS NOT NULL GROUP BY jid, gid, pass
),
reached AS (
  -- how far the job was when a pass began; inside it steps grow from line to line, and samples nearly always do
  SELECT gid, pass, uneven, coalesce(max(step) OVER w, -1) AS step, max(samples) OVER w AS samples
  FROM went WINDOW w AS (PARTITION BY jid ORDER BY gid, pass ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
safe AS (
  SELECT p.gid - p.k AS jid, max(CASE WHEN t.final AND t.end_state <> 'completed' AND NOT t.open THEN 1 ELSE 0 END) = 1 AS gone,
    greatest(coalesce(max(c.step), -1), coalesce(max(p.resumed_from), -1)) AS step
  FROM _start AS t JOIN _placed AS p ON p.job = t.job AND p.k = t.k
  LEFT JOIN _save AS c ON c.job = t.job AND c.k = t.k AND c.state IN ('committed', 'loaded')
  GROUP BY p.gid - p.k
),
brief AS (
  SELECT jid, min(CASE WHEN coalesce(total_us, at_us - before_us) // covered <= 864000000000 THEN coalesce(total_us, at_us - before_us) // covered END) AS step_us FROM _line WHERE NOT opens GROUP BY jid
),
torn AS (
  SELECT p.gid, p.gid - p.k AS jid, coalesce(max(l.last_step), max(p.resumed_from), max(CASE WHEN p.k = 0 THEN 0 END))
    + (least(min(t.ended_us), min(p.held_to_us)) - max(coalesce(l.last_us, p.first_us))) // nullif(coalesce(max(y.steady_us), max(b.step_us)), 0) + 1 AS step
  FROM _placed AS p JOIN _start AS t ON t.job = p.job AND t.k = p.k LEFT JOIN summed AS l ON l.gid = p.gid
  LEFT JOIN _steady AS y ON y.gid = p.gid LEFT JOIN brief AS b ON b.jid = p.gid - p.k
  WHERE p.steps_cut GROUP BY p.gid, p.gid - p.k
),
doubt AS (
  SELECT g.gid, max(coalesce(r.step, 9000000000000000000)) AS step FROM _placed AS g JOIN torn AS r ON r.jid = g.gid - g.k AND r.gid < g.gid GROUP BY g.gid
),
late AS (
  SELECT DISTINCT w.gid FROM warmed AS w JOIN mark AS m ON m.gid = w.gid AND m.at_us > w.work_us + 5000000 AND m.at_us <= w.at_us
  JOIN lifecycle_kind AS k ON k.kind = m.kind AND k.edge = 'end' JOIN lifecycle_part AS p ON p.part = k.part AND p.component = 'trainer_init'
  UNION
  -- neither an earlier start nor a load holds the steps before the first line: lines are missing that tell of them
  SELECT l.gid FROM _line AS l JOIN reached AS r ON r.gid = l.gid AND r.pass = l.pass
  JOIN _placed AS p ON p.gid = l.gid
  WHERE l.opens AND l.step - l.covered > greatest(r.step, coalesce(p.resumed_from, 0))
    AND (p.resumed_from IS NOT NULL OR l.gid NOT IN (SELECT gid FROM mark WHERE kind IN ('restore_begin', 'restore_end')))
  UNION
  -- too few steps to tell what one takes, and the first took a quarter longer than the shortest: a compile may lie in it
  SELECT w.gid FROM warmed AS w JOIN _steady AS y ON y.gid = w.gid AND y.steady_us IS NULL
  JOIN _line AS l ON l.gid = w.gid AND l.opens JOIN brief AS b ON b.jid = l.jid
  WHERE 4 * (w.at_us - w.warm_us) > 5 * b.step_us * l.covered
)
SELECT r.gid, r.pass, r.step AS high, r.samples AS high_samples, r.uneven, y.steady_us, w.warm_us, w.work_us AS warm_work_us, m.stride,
  s.gone, s.step AS safe_step, d.step AS doubt_step, t.gid IS NOT NULL AS late
FROM reached AS r JOIN _steady AS y ON y.gid = r.gid JOIN _placed AS p ON p.gid = r.gid JOIN safe AS s ON s.jid = p.gid - p.k
JOIN summed AS m ON m.gid = r.gid
LEFT JOIN warmed AS w ON w.gid = r.gid LEFT JOIN doubt AS d ON d.gid = r.gid LEFT JOIN late AS t ON t.gid = r.gid
