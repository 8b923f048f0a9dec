"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "eaa0d2f6d4995a128d9ad3c1cef9b7a22393565a17df1409d40128ea3841ab93"
