-- One row per start that compiled or looked into a compiler cache: how long its slowest rank compiled, and how warm it began.
-- needs: mark
-- job: job
-- k: number of the start in its job
-- ranks: ranks whose compiles have a length
-- compiles: first compiles of a function, over all ranks
-- recompiles: compiles of a function again, over all ranks
-- compile_us: length of the union of the compiles of one rank, for the rank where it is longest; null where none is known
-- hits: cache look-ups that found their artefact
-- misses: cache look-ups that did not, went past the cache, or found it disabled
-- warmth: cold (nothing was found), warm (everything was), partly, unknown (no look-up is told of)
WITH timed AS (
  SELECT job, k, coalesce(rank, -1) AS rank, at_us - duration_us AS begin_us, at_us AS end_us
  FROM mark WHERE kind IN ('compile', 'recompile') AND duration_us > 0 AND at_us IS NOT NULL
),
opened AS (
  SELECT *, CASE WHEN begin_us <= max(end_us) OVER (PARTITION BY job, k, rank ORDER BY begin_us, end_us
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 0 ELSE 1 END AS opens
  FROM timed
),
numbered AS (
  SELECT *, sum(opens) OVER (PARTITION BY job, k, rank ORDER BY begin_us, end_us ROWS UNBOUNDED PRECEDING) AS island FROM opened
),
joined AS (
  SELECT job, k, rank, max(end_us) - min(begin_us) AS us FROM numbered GROUP BY job, k, rank, island
),
ranked AS (
  SELECT job, k, rank, CAST(sum(us) AS BIGINT) AS us FROM joined GROUP BY job, k, rank
),
slowest AS (
  SELECT job, k, count(*) AS ranks, max(us) AS compile_us FROM ranked GROUP BY job, k
),
counted AS (
  SELECT job, k, sum(CASE WHEN kind = 'compile' THEN 1 ELSE 0 END) AS compiles, sum(CASE WHEN kind = 'recompile' THEN 1 ELSE 0 END) AS recompiles,
    sum(CASE WHEN kind = 'cache_hit' THEN 1 ELSE 0 END) AS hits, sum(CASE WHEN kind = 'cache_miss' THEN 1 ELSE 0 END) AS misses
  FROM mark WHERE kind IN ('compile', 'recompile', 'cache_hit', 'cache_miss')
  GROUP BY job, k
)
SELECT c.job, c.k, coalesce(s.ranks, 0) AS ranks, CAST(c.compiles AS BIGINT) AS compiles, CAST(c.recompiles AS BIGINT) AS recompiles,
  s.compile_us, CAST(c.hits AS BIGINT) AS hits, CAST(c.misses AS BIGINT) AS misses,
  CASE WHEN c.hits = 0 AND c.misses = 0 THEN 'unknown' WHEN c.hits = 0 THEN 'cold' WHEN c.misses = 0 THEN 'warm' ELSE 'partly' END AS warmth
FROM counted AS c LEFT JOIN slowest AS s ON s.job = c.job AND s.k = c.k
