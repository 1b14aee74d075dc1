-- One row per raw interval of a start; intervals may overlap.
-- needs: _wait, _tile, _pair, _evaluated, _timed, _stall, _work, step_run, _phase, _placed, _start, _stream, _adrift
-- job: job
-- start: number of the start; null where none follows
-- part: what went on
-- begin_us: begin in microseconds since 1970 UTC
-- end_us: end
-- evidence: path and line, with a note where it rests on another reading
-- inferred: whether it rests on an inference, or lines of its start lie outside the allocation, so that no instant of them is sure
WITH every AS (
  SELECT job, k, part, begin_us, end_us, evidence, inferred FROM _wait
  UNION ALL
  SELECT job, k, part, begin_us, end_us, evidence, inferred FROM _tile
  UNION ALL
  SELECT job, k, part, begin_us, end_us, evidence, inferred FROM _pair WHERE part <> 'evaluation'
  UNION ALL
  SELECT job, k, part, begin_us, end_us, evidence, inferred FROM _evaluated
  UNION ALL
  SELECT job, k, part, begin_us, end_us, evidence, inferred FROM _timed
  UNION ALL
  SELECT job, k, part, begin_us, end_us, evidence, inferred FROM _stall
  UNION ALL
  SELECT job, k, nature, begin_us, end_us, evidence, inferred FROM step_run
  UNION ALL
  SELECT p.job, p.k, 'first_step_excess', w.begin_us, w.work_us,
    c.path || ':' || CAST(w.line AS VARCHAR) || ' (first step beyond a steady step)', TRUE
  FROM _work AS w JOIN _placed AS p ON p.gid = w.gid JOIN _stream AS c ON c.no = w.no
  WHERE w.estimated
  UNION ALL
  SELECT h.job, h.k, 'hang', h.progress_us, h.stop_us, s.end_evidence || ' (last progress to the end)', (s.failed_us IS NOT NULL AND NOT s.failed_dated) OR NOT s.told OR h.step_end_us IS NULL
    OR (h.progress_us = h.step_end_us AND NOT h.step_dated)
  FROM _phase AS h JOIN _start AS s ON s.job = h.job AND s.k = h.k
  WHERE s.end_state NOT IN ('completed', 'unknown', 'truncated')
  UNION ALL
  SELECT h.job, h.k, 'teardown', h.stop_us, h.done_us, s.end_evidence || ' (end to release)', NOT s.told OR h.silent OR h.overrun OR (s.failed_us IS NOT NULL AND NOT s.failed_dated)
    OR (s.failed_us IS NULL AND NOT coalesce(h.step_dated, TRUE))
  FROM _phase AS h JOIN _start AS s ON s.job = h.job AND s.k = h.k
  WHERE s.end_state NOT IN ('unknown', 'truncated')
)
SELECT e.job, e.k AS start, e.part, e.begin_us, e.end_us, e.evidence, e.inferred OR a.job IS NOT NULL AS inferred
FROM every AS e LEFT JOIN _adrift AS a ON a.job = e.job AND a.k = e.k
WHERE e.end_us > e.begin_us
