-- One row per start whose first line stands long before all like it, and before all else that its own log says: its stamp may be another line's.
-- needs: mark, lifecycle_kind
-- job: job
-- k: number of the start in its job
-- at_us: the instant
-- A line that is broken into lends its stamp to the one that breaks in.
WITH told AS (
  SELECT m.job, m.k, m.stream, k.opens, m.at_us, m.dated, lead(m.at_us) OVER w - m.at_us AS pause_us, row_number() OVER w AS nth
  FROM mark AS m JOIN lifecycle_kind AS k ON k.kind = m.kind
  WHERE m.at_us IS NOT NULL
  WINDOW w AS (PARTITION BY m.job, m.k, m.stream ORDER BY m.part_no, m.line, k.opens DESC, m.kind)
),
opener AS (
  SELECT job, k, at_us, pause_us, lead(at_us) OVER w AS next_us, row_number() OVER w AS nth, min(pause_us) OVER (PARTITION BY job, k) AS least_us
  FROM told WHERE nth = 1 AND opens > 0 AND dated
  WINDOW w AS (PARTITION BY job, k ORDER BY at_us, stream)
)
SELECT job, k, at_us FROM opener
WHERE nth = 1 AND next_us > at_us + 10000000 AND pause_us > least_us + 10000000
