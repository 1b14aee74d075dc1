-- A job has trainer logs, and none of them lies in this allocation of it.
-- needs: _held, _placed
-- level: warning
-- todo: ingest the logs of that allocation, or see whether it ended before the trainer came up
-- subject: path and line of the record
-- detail: the allocation
SELECT h.evidence AS subject, 'allocation ' || h.raw || ' of ' || h.job || ' has no trainer lines' AS detail
FROM _held AS h
-- a start that passes through several allocations, as one that was resized does, has lines in all of them
LEFT JOIN _placed AS p ON p.job = h.job AND ((p.raw = h.raw AND p.held_from_us = h.from_us) OR (p.first_us < h.to_us AND p.last_us > h.from_us))
WHERE h.from_us IS NOT NULL AND h.to_us > h.from_us AND p.job IS NULL AND h.job IN (SELECT job FROM _placed)
