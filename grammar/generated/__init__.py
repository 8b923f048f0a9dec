"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "fe67f8e1d267634cbfa2a148481aa7def31cc9779564c2dc1a81525190841abb"
