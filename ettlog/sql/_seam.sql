-- One row per stretch of lines of a file whose launch is numbered over the whole log, because the file was cut inside one.
-- needs: seam_fact
-- key: content key of the source
-- begin_line: first line of the stretch
-- end_line: line behind it
-- launch: launch of the file that they belong to; 0 goes on with the last one of the file before
SELECT key, begin_line, end_line, launch FROM seam_fact
