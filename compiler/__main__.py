"""`python -m neelc`."""

import sys

from neelc.cli import main

sys.exit(main())
