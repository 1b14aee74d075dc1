"""Run the command line with `python -m ettlog`, or as the program `ettlog`."""

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback from its first moment on.

    Where a standard stream is closed, the next file that is opened would take its place: it is made /dev/null.
    """
    for handle, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8", closefd=False))
    try:
        from ettlog.cli import main as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
