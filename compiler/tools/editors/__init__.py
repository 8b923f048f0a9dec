"""What editors need: colours for the language, and answers about a script that is being written."""

from __future__ import annotations
