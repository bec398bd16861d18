"""`python -m fedpriv`: the program without an installed entry point."""

import sys

from fedpriv.cli.app import main

sys.exit(main())
