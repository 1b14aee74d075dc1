-- A start's lines lie outside the allocation that it belongs to: a clock or a zone is wrong.
-- needs: _placed, _held
-- level: warning
-- todo: set clock.zone or clock.zones in ettlog.toml; a shift of whole hours is a zone
-- subject: job and number of the start
-- detail: by how much
SELECT job || ' start ' || CAST(k AS VARCHAR) AS subject,
  'lines reach ' || CAST(greatest(held_from_us - first_us, last_us - held_to_us) // 1000000 AS VARCHAR)
    || ' s beyond allocation ' || raw AS detail
FROM _placed AS p
-- prolog and steps may pass the allocation by a minute or two
WHERE first_us < held_from_us - 120000000 OR (last_us > held_to_us + 120000000
  -- unless another allocation of the job holds its last line, as that of a job that was resized does
  AND NOT EXISTS (SELECT 1 FROM _held AS h WHERE h.job = p.job AND h.from_us <= p.last_us AND h.to_us >= p.last_us - 120000000))
