"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "0005ccf43d9b063cfbcd7a1ae92534d71fccf71ceb6ea14f188c09f05d75062b"
