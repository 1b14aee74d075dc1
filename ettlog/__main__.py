"""Run the command line with `python -m ettlog`."""

from ettlog.cli import main

main()
