-- One row per step line: the time its steps took, what the first took beyond a steady step, and how much of it was new.
-- needs: _line, _pass, _swing, _untold
-- gid: number of the start over all jobs
-- before_us: instant of the line before in the same pass
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
-- dated: whether the instant was printed, and with it that of the first step of its start
-- unsure: whether its steps may have been made before, by a start whose logs break off; or start-up went on in its work;
-- or it prints no duration, and came a quarter of it late or with a line before it missing: a save may lie in it that no line tells;
-- or it came later than its durations say with a line before it missing; or a save lies in it of which only the end is told
-- estimated: whether work_us rests on the estimate of a steady step
-- no: number of the source
-- line: line number in the source
WITH timed AS (
  SELECT l.*, coalesce(l.total_us, CASE
    WHEN l.at_us - l.before_us > k.steady_us * l.covered * 3 // 2 + 5000000 THEN k.steady_us * l.covered ELSE l.at_us - l.before_us END) AS needed_us,
    k.steady_us, k.warm_us, k.warm_work_us, k.stride, k.gone, k.safe_step, k.doubt_step, k.late, e.gid IS NOT NULL AS untold,
    CASE WHEN l.goes_on AND l.before_us IS NOT NULL THEN greatest(k.high, l.step - l.covered) ELSE k.high END AS high,
    CASE WHEN l.goes_on AND l.before_us IS NOT NULL THEN greatest(k.high_samples, CASE WHEN k.uneven THEN u.samples ELSE l.samples_before END)
      ELSE k.high_samples END AS high_samples
  FROM _line AS l JOIN _pass AS k ON k.gid = l.gid AND k.pass = l.pass
  LEFT JOIN _swing AS u ON u.gid = l.gid AND u.pass = l.pass AND u.step = l.step
  LEFT JOIN _untold AS e ON e.gid = l.gid AND e.pass = l.pass AND e.step = l.step
  WHERE l.at_us IS NOT NULL
),
begun AS (
  SELECT *, CASE WHEN opens THEN warm_us WHEN at_us - needed_us - before_us <= greatest(needed_us // 2, 5000000) THEN before_us
    ELSE at_us - needed_us END AS begin_us
  FROM timed
),
judged AS (
  SELECT *, coalesce(step - covered < doubt_step, FALSE) OR (opens AND late) OR untold
    OR coalesce(total_us IS NULL AND (covered >= 2 * stride OR (begin_us = before_us AND at_us - begin_us > steady_us * covered * 5 // 4 + 1000000)), FALSE)
    OR coalesce(covered >= 2 * stride AND at_us - before_us > total_us + 1000000, FALSE) AS unsure,
    CASE
      -- where every line of the job tells the samples consumed, they decide: a step number means little when the batch changed
      WHEN samples > samples_before
        THEN greatest(least((coalesce(high_samples, 0) - samples_before) * covered // (samples - samples_before), covered), 0)
      ELSE greatest(least(high - (step - covered), covered), 0) END AS replayed,
    CASE WHEN gone THEN greatest(step - safe_step, 0) ELSE 0 END AS beyond
  FROM begun
)
SELECT gid, CASE WHEN goes_on THEN before_us END AS before_us, begin_us, CASE WHEN opens THEN warm_work_us ELSE begin_us END AS work_us, at_us AS end_us, pass,
  step - covered + 1 AS first_step, step, replayed, least(beyond, covered - replayed) AS lost, covered, total_us AS printed_us, dated AND NOT (opens AND late) AS dated, unsure,
  opens AND steady_us IS NOT NULL AS estimated, no, line
FROM judged
