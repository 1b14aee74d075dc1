"""What a process that reads logs needs, loaded once: whoever imports this can be forked into workers (`nursery.py`)."""

from __future__ import annotations

import gc

import pyarrow.parquet  # noqa: F401  (libraries map their memory before it is bounded)

from ettlog.parse import format as formats_of
from ettlog.parse import named_dates, records, redaction, scan  # noqa: F401
from ettlog.parse.finder import event_search
from ettlog.parse.format import FormatSet

SHIPPED: FormatSet = formats_of.load_all(())
"""The formats that come with ettlog."""

event_search(SHIPPED.patterns)
gc.collect()
gc.freeze()  # a collection would write into every object, and so copy the memory that workers share
