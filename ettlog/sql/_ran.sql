-- One row per step of a scheduler's job: when the job's own processes ran.
-- needs: alloc
-- raw: plain job id
-- start_us: the step began
SELECT raw, start_us FROM alloc WHERE record = 'step' AND start_us IS NOT NULL AND regexp_matches(id, '[.][0-9]+$')
