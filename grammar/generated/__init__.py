"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "55681e3f91ae726e637bd32e9cdcffc0832587e50fdad90cdce66874d5712379"
