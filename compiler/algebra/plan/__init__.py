"""What the kernels of the event algebra are given: folds, pivots, automata over symbols."""

from __future__ import annotations
