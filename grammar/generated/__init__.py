"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "2393f95b0497b11bf8d49ed7928d9cd88bedf2ba043868e6386fafb3d55eb9fd"
