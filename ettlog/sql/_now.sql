-- The newest instant of the whole snapshot: open jobs are clipped here.
-- needs: event, _stepped, alloc, source
-- now_us: newest instant in microseconds since 1970 UTC; null in an empty lake
-- trace_us: newest instant of traces that count from their start
SELECT max(at_us) AS now_us, (SELECT max(greatest(coalesce(submit_us, 0), coalesce(start_us, 0), coalesce(end_us, 0)))
  FROM alloc WHERE clock = 'relative') AS trace_us
FROM (
  SELECT max(ts) AS at_us FROM event
  UNION ALL
  SELECT max(last_us) FROM _stepped
  UNION ALL
  SELECT max(greatest(coalesce(submit_us, 0), coalesce(start_us, 0), coalesce(end_us, 0))) FROM alloc
  UNION ALL
  SELECT max(last_us) FROM source
) AS newest
WHERE at_us > 0
