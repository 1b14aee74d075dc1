-- One row per step line: the time its steps took, what the first took beyond a steady step, and how much of it was new.
-- needs: _line, _steady, _placed, _start, _save, mark, lifecycle_kind, lifecycle_part
-- gid: number of the start over all jobs
-- begin_us: the line's time begins; contiguous with the line before where the difference is small
-- work_us: the steps' own work begins: later than begin_us only for the first line of a start
-- end_us: the line's time ends
-- pass: 0, and one more each time the loop went back inside the process
-- first_step: first step covered
-- step: last step covered
-- replayed: steps covered that are at or below the high-water mark of the job
-- lost: steps covered that are above the last protected step of a job that never came back
-- covered: steps covered
-- printed_us: printed duration of the line's steps
-- dated: whether the instant was printed
-- unsure: whether its steps may have been made before, by a start whose logs break off; or start-up went on in its work;
-- or it prints no duration, and came a quarter of it late or with a line before it missing: a save may lie in it that no line tells;
-- or it came later than its durations say with a line before it missing; or nothing explains the time behind it: its line may carry
-- the stamp of another one that it broke into
-- estimated: whether work_us rests on the estimate of a steady step
-- no: number of the source
-- line: line number in the source
WITH compiled AS (
  SELECT gid, at_us FROM mark WHERE kind IN ('compile', 'compile_end')
),
timed AS (
  SELECT l.*, s.steady_us * l.covered AS steady_us, p.first_us, p.train_us,
    CASE WHEN l.opens THEN coalesce(l.total_us, CASE WHEN p.train_us <= l.at_us THEN l.at_us - p.train_us END, s.steady_us * l.covered, 0)
      WHEN l.total_us IS NOT NULL THEN l.total_us
      WHEN l.at_us - l.before_us > s.steady_us * l.covered * 3 // 2 + 5000000 THEN s.steady_us * l.covered
      ELSE l.at_us - l.before_us END AS needed_us
  FROM _line AS l JOIN _steady AS s ON s.gid = l.gid JOIN _placed AS p ON p.gid = l.gid
  WHERE l.at_us IS NOT NULL
),
begun AS (
  -- a log that begins with a step line was cut: what the line says it took lies before it
  SELECT *, CASE WHEN opens AND first_us >= at_us AND total_us > 0 THEN at_us - total_us
    WHEN opens THEN greatest(at_us - needed_us, least(first_us, at_us))
    WHEN at_us - needed_us - before_us <= greatest(needed_us // 2, 5000000) THEN before_us
    ELSE at_us - needed_us END AS begin_us
  FROM timed
),
warm AS (
  -- an explicit compile inside the first step is better evidence than the estimate: the step begins behind it
  SELECT b.gid, max(c.at_us) AS compiled_us
  FROM begun AS b JOIN compiled AS c ON c.gid = b.gid
  WHERE b.opens AND c.at_us > b.begin_us AND c.at_us < b.at_us
  GROUP BY b.gid
),
worked AS (
  SELECT b.*, CASE WHEN b.opens THEN greatest(coalesce(w.compiled_us, b.begin_us),
      CASE WHEN b.steady_us IS NULL THEN b.begin_us ELSE b.at_us - b.steady_us END) ELSE b.begin_us END AS work_us,
    coalesce(w.compiled_us, b.begin_us) AS warm_us, min(CASE WHEN NOT b.opens THEN b.covered END) OVER (PARTITION BY b.gid) AS stride,
    coalesce(max(b.step) OVER v, -1) AS high, max(b.samples) OVER v AS high_samples
  FROM begun AS b LEFT JOIN warm AS w ON w.gid = b.gid
  WINDOW v AS (PARTITION BY b.jid ORDER BY b.gid, b.pass, b.step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
safe AS (
  SELECT p.gid - p.k AS jid, max(CASE WHEN t.final AND t.end_state <> 'completed' AND NOT t.open THEN 1 ELSE 0 END) = 1 AS gone,
    greatest(coalesce(max(c.step), -1), coalesce(max(p.resumed_from), -1)) AS step
  FROM _start AS t JOIN _placed AS p ON p.job = t.job AND p.k = t.k
  LEFT JOIN _save AS c ON c.job = t.job AND c.k = t.k AND c.state IN ('committed', 'loaded')
  GROUP BY p.gid - p.k
),
torn AS (
  SELECT p.gid, p.gid - p.k AS jid, max(l.step) + (least(min(t.ended_us), min(p.held_to_us)) - max(l.at_us)) // nullif(max(y.steady_us), 0) + 1 AS step
  FROM _placed AS p JOIN _start AS t ON t.job = p.job AND t.k = p.k
  LEFT JOIN _line AS l ON l.gid = p.gid LEFT JOIN _steady AS y ON y.gid = p.gid
  WHERE p.steps_cut GROUP BY p.gid, p.gid - p.k
),
doubt AS (
  SELECT g.gid, max(coalesce(r.step, 9000000000000000000)) AS step FROM _placed AS g JOIN torn AS r ON r.jid = g.gid - g.k AND r.gid < g.gid GROUP BY g.gid
),
late AS (
  SELECT DISTINCT w.gid FROM worked AS w JOIN mark AS m ON m.gid = w.gid AND m.at_us > w.work_us + 5000000 AND m.at_us <= w.at_us
  JOIN lifecycle_kind AS k ON k.kind = m.kind AND k.edge = 'end' JOIN lifecycle_part AS p ON p.part = k.part AND p.component = 'trainer_init'
  WHERE w.opens
),
held AS (
  SELECT m.gid, m.at_us FROM mark AS m JOIN lifecycle_kind AS k ON k.kind = m.kind WHERE k.edge = 'begin'
),
back AS (
  SELECT gid, pass, min(step) AS step FROM worked WHERE pass > 0 GROUP BY gid, pass
),
paused AS (
  -- a pause between step lines is explained where the loop goes back, or where, at most five seconds before the first, something begins that holds the loop
  SELECT w.gid, w.before_us AS at_us FROM worked AS w
  LEFT JOIN held AS h ON h.gid = w.gid AND h.at_us >= w.before_us - 5000000 AND h.at_us < w.begin_us
  LEFT JOIN back AS b ON b.gid = w.gid AND b.pass = w.pass AND b.step = w.step
  WHERE NOT w.opens AND w.begin_us > w.before_us AND h.gid IS NULL AND b.gid IS NULL
  GROUP BY w.gid, w.before_us
),
judged AS (
  SELECT w.*, coalesce(w.step - w.covered < d.step, FALSE) OR (w.opens AND t.gid IS NOT NULL)
    OR coalesce(w.total_us IS NULL AND w.begin_us = w.before_us
      AND (w.covered >= 2 * w.stride OR w.at_us - w.begin_us > w.steady_us * 5 // 4 + 1000000), FALSE)
    OR coalesce(w.covered >= 2 * w.stride AND w.at_us - w.before_us > w.total_us + 1000000, FALSE) OR u.gid IS NOT NULL AS unsure, CASE
      -- where every line of the job tells the samples consumed, they decide: a step number means little when the batch changed
      WHEN w.samples > w.samples_before
        THEN greatest(least((coalesce(w.high_samples, 0) - w.samples_before) * w.covered // (w.samples - w.samples_before), w.covered), 0)
      ELSE greatest(least(w.high - (w.step - w.covered), w.covered), 0) END AS replayed,
    CASE WHEN s.gone THEN greatest(w.step - s.step, 0) ELSE 0 END AS beyond
  FROM worked AS w JOIN safe AS s ON s.jid = w.jid LEFT JOIN doubt AS d ON d.gid = w.gid LEFT JOIN late AS t ON t.gid = w.gid
  LEFT JOIN paused AS u ON u.gid = w.gid AND u.at_us = w.at_us
)
SELECT gid, CASE WHEN opens THEN warm_us ELSE begin_us END AS begin_us, work_us, at_us AS end_us, pass,
  step - covered + 1 AS first_step, step, replayed, least(beyond, covered - replayed) AS lost, covered, total_us AS printed_us, dated, unsure,
  opens AND steady_us IS NOT NULL AS estimated, no, line
FROM judged
