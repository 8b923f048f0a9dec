"""`python -m neelc`."""

from __future__ import annotations

from neelc.cli import command

command()
