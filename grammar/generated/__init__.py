"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "93c31ff83623d1ed90422e16c4c8687811cde35acfff56cedaacd0da69e2fed1"
