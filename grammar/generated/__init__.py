"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "c5a7f9cabfb1c08b5f1b3306e0da8684d28dfe299e26a711c56493cb9e626537"
