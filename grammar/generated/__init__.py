"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "87d60b1db1ea57ae2f3affad5573add84cb9ac0dea10b8c1ad22564ca2b74f2f"
