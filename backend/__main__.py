"""`python -m backend VERB ...`: the command line. See `python -m backend --help`."""

import sys

from backend.cli import main

if __name__ == "__main__":
    sys.exit(main())
