"""From bytes to facts: formats, envelopes, clocks, identity and the scanner."""
