"""``python -m cmem``."""

import sys

from cmem._entry import main

if __name__ == "__main__":
    sys.exit(main())
