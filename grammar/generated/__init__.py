"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "831d3f9d03617733d9be5e5958b7f8c22f246e9053271c9296df318e497e61e9"
