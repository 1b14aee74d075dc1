-- One row per launch of a stream: the start it belongs to, copies of one start from several ranks joined.
-- needs: _launch
-- name: job name
-- gid: number of the start over all jobs, in order of time inside a job name
-- stream: the log
-- launch: number of the launch in the stream
-- chain: logs that run at the same time and so tell of the same starts
-- Streams of one job (and one allocation) whose times overlap, by half of the later one or by nearly all of the earlier, are copies. The one with most launches counts the starts; the
-- launches of the others join by number where there are as many, else by the middle of their time.
WITH span AS (
  SELECT name, stream, min(rank) AS rank, min(allocation) AS allocation, max(nth) AS launches,
    min(first_us) AS first_us, max(last_us) AS last_us
  FROM _launch GROUP BY name, stream
),
held AS (
  SELECT name, count(DISTINCT allocation) AS allocations, min(allocation) AS only_one FROM span GROUP BY name
),
placed AS (
  SELECT s.*, CASE WHEN h.allocations = 1 THEN h.only_one ELSE coalesce(s.allocation, '') END AS held_by,
    coalesce(s.first_us, 0) AS from_us, coalesce(s.last_us, 0) AS to_us
  FROM span AS s JOIN held AS h ON h.name = s.name
),
broken AS (
  SELECT *, CASE
      WHEN first_us IS NULL AND rank IS NULL THEN 1
      -- a short overlap is a clock that runs ahead or behind, or an old attempt that has not noticed its end
      WHEN 2 * (least(to_us, max(to_us) OVER w) - from_us) >= to_us - from_us THEN 0
      -- the later one goes on for long, and nearly all of an earlier one lies in it: of that writer the end is not there
      WHEN max(to_us + 9 * from_us) OVER w >= 10 * from_us AND from_us > 0 THEN 0
      ELSE 1 END AS opens
  FROM placed
  WINDOW w AS (PARTITION BY name, held_by ORDER BY from_us, stream ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
chained AS (
  SELECT *, sum(opens) OVER (PARTITION BY name, held_by ORDER BY from_us, stream ROWS UNBOUNDED PRECEDING) AS chain_no
  FROM broken
),
led AS (
  SELECT *, first_value(stream) OVER w AS leader, first_value(launches) OVER w AS leader_launches,
    min(first_us) OVER (PARTITION BY name, held_by, chain_no) AS chain_us,
    min(stream) OVER (PARTITION BY name, held_by, chain_no) AS chain
  FROM chained
  WINDOW w AS (PARTITION BY name, held_by, chain_no ORDER BY launches DESC, coalesce(rank, 0), stream)
),
known AS (
  SELECT c.name, c.chain, c.chain_us, l.stream, l.launch, l.nth, (l.first_us + l.last_us) // 2 AS middle_us, l.first_us,
    c.stream = c.leader AS leads, c.stream = c.leader OR c.launches = c.leader_launches AS by_number
  FROM led AS c JOIN _launch AS l ON l.stream = c.stream
),
matched AS (
  SELECT *, CASE WHEN by_number THEN nth ELSE coalesce(last_value(CASE WHEN leads THEN nth END IGNORE NULLS) OVER (
      PARTITION BY name, chain ORDER BY CASE WHEN leads THEN first_us ELSE middle_us END NULLS FIRST, leads DESC, stream, nth
      ROWS UNBOUNDED PRECEDING), 1) END AS number
  FROM known
)
SELECT name, dense_rank() OVER (ORDER BY name, chain_us NULLS LAST, chain, number) AS gid, stream, launch, chain
FROM matched
