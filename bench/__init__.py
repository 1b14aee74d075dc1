"""Measuring ettlog: a generator of logs and what runs over them."""
