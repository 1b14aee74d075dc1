-- A raw interval ends before it begins.
-- needs: step_run, _stall, _pair, _backward, allocation
-- level: error
-- todo: a clock ran backwards or a record is damaged: look at the line, and report it if it is right
-- subject: path and line
-- detail: what it is
SELECT evidence AS subject, detail
FROM (
  SELECT evidence, 'stretch of steps' AS detail, begin_us, end_us FROM step_run
  UNION ALL
  SELECT evidence, part, begin_us, end_us FROM _stall
  UNION ALL
  SELECT evidence, part, begin_us, end_us FROM _pair
  UNION ALL
  SELECT evidence, 'steps of a line', begin_us, end_us FROM _backward
  UNION ALL
  SELECT evidence, 'allocation', start_us, end_us FROM allocation
) AS every
WHERE end_us < begin_us
