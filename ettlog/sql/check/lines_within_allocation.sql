-- A start's lines lie outside the allocation that it belongs to: a clock or a zone is wrong.
-- needs: _adrift
-- level: warning
-- todo: a shift of whole hours is a zone: set clock.zone or clock.zones in ettlog.toml; any other: clock.correct = "always", or clock.shifts
-- subject: job and number of the start
-- detail: by how much
SELECT job || ' start ' || CAST(k AS VARCHAR) AS subject,
  'lines reach ' || CAST(beyond_us // 1000000 AS VARCHAR) || ' s beyond allocation ' || raw AS detail
FROM _adrift
