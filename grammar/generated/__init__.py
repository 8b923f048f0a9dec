"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "3d1d656b7a33535e4cf3ee5105b4f264f719a955531365d29caf69068581b5be"
