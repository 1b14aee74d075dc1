-- One row per start, step and state that a checkpoint reached; only a committed or a loaded one protects work.
-- needs: _save, launch
-- job: job
-- k: number of the start in its job
-- step: step of the checkpoint, numbered as printed
-- state: requested, staged (the loop may go on), written (by one rank), committed (by all ranks), loaded
-- at: instant, UTC without zone: the first rank's of a request, the last rank's of every other state
-- path: what was written, where the log names it
-- lost: whether a committed one was not durable: the next start went on from an earlier step; null where no next start tells
-- evidence: path and line of the log line that gives the instant
WITH went AS (
  SELECT job, k - 1 AS k, max(resumed_from) AS resumed_from, min(first_step) AS first_step
  FROM launch
  -- of launches without any clock it is not known which one came next
  WHERE first_us IS NOT NULL
  GROUP BY job, k
)
SELECT s.job, s.k, s.step, s.state, make_timestamp(s.at_us) AS at, s.path,
  CASE WHEN s.state <> 'committed' THEN NULL WHEN n.resumed_from IS NOT NULL THEN n.resumed_from < s.step
    WHEN n.first_step <= s.step THEN TRUE END AS lost,
  s.evidence
FROM _save AS s
LEFT JOIN went AS n ON n.job = s.job AND n.k = s.k
