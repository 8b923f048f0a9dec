"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "feaa6f2f602293dae95417e14b0c5677e1df63e9336373a27367cf6714c2e51b"
