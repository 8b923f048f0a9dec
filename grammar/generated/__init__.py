"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "143fb8f25153f5343bdc0f288f623a3a18fd7439ac909fb3e985def22e5c24dd"
