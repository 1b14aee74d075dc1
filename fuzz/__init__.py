"""Fuzz targets: what each takes, what it must not do, and the inputs that are kept."""
