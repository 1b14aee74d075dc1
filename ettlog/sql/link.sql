-- One row per join: what belongs to which job, allocation and start, by what rule and on what evidence.
-- needs: source, _named, _stream, launch, allocation, _placed, _held, _resumed
-- job: job
-- what: what was joined: log, record (of a scheduler), start, resubmission (logs of another name)
-- subject: path of the log, id of the record, number of the start, or the other name
-- allocation: allocation that the join leads to, as the log or the scheduler names it
-- k: number of the start, of a join of a start
-- rule: template, line, file name, folder, pod name, name rule, job name, requeue chain, array, beside the log, checkpoint folder, resubmitted, id, time
-- inferred: whether the rule is an inference: neither the log, the scheduler nor the configuration says it
-- evidence: path, or path and line, that it rests on
WITH logged AS (
  SELECT DISTINCT l.job, s.path, s.allocation, coalesce(n.rule, s.job_by) AS job_by
  FROM launch AS l JOIN _stream AS c ON c.stream = l.stream JOIN source AS s ON s.key = c.key JOIN _named AS n ON n.key = s.key
),
spent AS (
  -- one start may pass through several allocations, as one that was resized does
  SELECT p.job, p.k, h.raw, p.allocation, coalesce(p.evidence, p.held_evidence) AS evidence,
    CASE WHEN p.raw = h.raw AND p.allocation IN (h.raw, h.id) AND p.named THEN 'id' ELSE 'time' END AS rule
  FROM _placed AS p JOIN _held AS h ON h.job = p.job
    AND ((h.raw = p.raw AND h.from_us = p.held_from_us) OR (p.raw IS NOT NULL AND p.first_us < h.to_us AND p.last_us > h.from_us))
),
every AS (
  SELECT job, 'log' AS what, path AS subject, allocation, CAST(NULL AS BIGINT) AS k, coalesce(job_by, 'line') AS rule, path AS evidence FROM logged
  UNION ALL
  SELECT job, 'record', id, raw, NULL, rule, evidence FROM allocation WHERE rule IS NOT NULL
  UNION ALL
  SELECT job, 'start', CAST(k AS VARCHAR), raw, k, rule, evidence FROM spent
  UNION ALL
  SELECT root, 'resubmission', name, NULL, NULL, rule, evidence FROM _resumed
)
SELECT job, what, subject, allocation, k, rule,
  rule IN ('file name', 'folder', 'job name', 'beside the log', 'checkpoint folder', 'resubmitted', 'time') AS inferred, evidence
FROM every
