"""`python -m neelc`."""

from __future__ import annotations

import sys

from neelc.cli import main

sys.exit(main())
