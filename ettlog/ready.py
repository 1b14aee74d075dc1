"""What a process that reads logs needs, loaded once: whoever imports this can be forked into workers (`nursery.py`)."""

from __future__ import annotations

import gc

import numpy.ma  # noqa: F401  (numpy loads it when it is first asked for distinct values)
import pyarrow.parquet  # noqa: F401  (libraries map their memory before it is bounded)

from ettlog.parse import format as formats_of
from ettlog.parse import named_dates, records, redaction, scan  # noqa: F401
from ettlog.parse.engine import engine
from ettlog.parse.envelope import peel
from ettlog.parse.format import FormatSet
from ettlog.parse.parsed import ALL

SHIPPED: FormatSet = formats_of.load_all(())
"""The formats that come with ettlog."""

engine(SHIPPED, ALL)
records.warm()
for _first in (b"[", b" ", b"0"):
    peel(_first)  # prefixes are compiled for the bytes that lines begin with
gc.collect()
gc.freeze()  # a collection would write into every object, and so copy the memory that workers share
