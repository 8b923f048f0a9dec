"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "3b86e29f12572fdc2857ad7240f0b90a3b3235ca3ef943a3119f004f681d763f"
