"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "36ce30d2c575e46000f53457b5cf8a90682a30157068f9612dfc922037a9c6e1"
