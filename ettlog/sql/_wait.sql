-- One row per time without a trainer: waiting for hardware, or hardware held and nothing started on it.
-- needs: _ran, _held, _phase, _placed, _start
-- job: job
-- k: number of the start that follows, where one does
-- part: queue or placement
-- begin_us: the wait begins
-- end_us: the wait ends
-- inferred: whether no scheduler tells where it begins
-- evidence: path and line
WITH asked AS (
  SELECT *, lag(to_us) OVER (PARTITION BY job ORDER BY coalesce(from_us, submit_us), submit_us, to_us, raw, evidence) AS freed_us FROM _held
),
bare AS (
  SELECT h.job, h.from_us, h.to_us, h.evidence, coalesce(h.ready_us, min(s.start_us)) AS ran_us
  FROM _held AS h LEFT JOIN _ran AS s ON s.raw = h.raw AND s.start_us BETWEEN h.from_us AND h.to_us
  WHERE h.from_us IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM _placed AS p WHERE p.job = h.job AND p.raw = h.raw AND p.held_from_us = h.from_us)
  GROUP BY h.job, h.from_us, h.to_us, h.evidence, h.ready_us
),
came AS (
  SELECT h.job, h.k, CASE WHEN h.headless THEN p.ready_us ELSE h.begin_us END AS begin_us, p.raw, p.held_from_us, p.before_us, s.same_log, p.evidence, lag(h.done_us) OVER w AS done_us,
    lag(p.raw) OVER w AS raw_before, lag(p.held_from_us) OVER w AS held_before_us
  FROM _phase AS h
  JOIN _placed AS p ON p.job = h.job AND p.k = h.k
  JOIN _start AS s ON s.job = h.job AND s.k = h.k
  WINDOW w AS (PARTITION BY h.job ORDER BY h.k)
)
SELECT job, CAST(NULL AS BIGINT) AS k, 'queue' AS part, coalesce(freed_us, submit_us) AS begin_us, coalesce(from_us, to_us) AS end_us,
  FALSE AS inferred, evidence
FROM asked
WHERE waits AND coalesce(from_us, to_us) > coalesce(freed_us, submit_us)
UNION ALL
-- hardware on which no trainer showed was being placed until the job's first own process ran; what came then is not known
SELECT job, NULL, 'placement', from_us, least(ran_us, to_us), FALSE, evidence
FROM bare
WHERE ran_us > from_us
UNION ALL
SELECT job, k, 'placement', CASE WHEN raw IS NULL THEN coalesce(done_us, before_us)
    WHEN raw = raw_before AND held_from_us = held_before_us THEN done_us ELSE held_from_us END,
  -- where the old processes end and the wait for the new ones begins is told by silence only
  begin_us, raw IS NULL OR coalesce(raw = raw_before AND held_from_us = held_before_us, FALSE), evidence
FROM came
WHERE begin_us IS NOT NULL AND (raw IS NOT NULL OR same_log OR (k = 0 AND before_us IS NOT NULL))
