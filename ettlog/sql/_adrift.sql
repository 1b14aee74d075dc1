-- One row per start whose lines lie outside the allocation that it belongs to: a clock or a zone is wrong, and none of its instants is sure.
-- needs: _placed, _held
-- job: job
-- k: number of the start in its job
-- raw: plain id of the allocation
-- beyond_us: by how much
SELECT p.job, p.k, p.raw, greatest(p.held_from_us - p.first_us, p.last_us - p.held_to_us) AS beyond_us
FROM _placed AS p
-- prolog and steps may pass the allocation by a minute or two
WHERE p.first_us < p.held_from_us - 120000000 OR (p.last_us > p.held_to_us + 120000000
  -- unless another allocation of the job holds its last line, as that of a job that was resized does
  AND NOT EXISTS (SELECT 1 FROM _held AS h WHERE h.job = p.job AND h.from_us <= p.last_us AND h.to_us >= p.last_us - 120000000))
