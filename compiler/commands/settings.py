"""What the options of a command say about how queries are compiled."""

from __future__ import annotations

import argparse

from neelc.api.compiling import Settings


def settings_in(options: argparse.Namespace) -> Settings:
    """`--strategy`, `--most-rows` and `--most-matches`."""
    return Settings(options.strategy, options.most_rows, options.most_matches)
