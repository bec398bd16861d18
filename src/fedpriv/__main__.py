"""`python -m fedpriv`: the program without an installed entry point."""

import sys

from fedpriv.cli import main

sys.exit(main())
