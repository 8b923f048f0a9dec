"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "29172c557a2838fa617b231b6e118e57b0414db54eb951e2b2cc2d4908c3f6ae"
