"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "68c726d2d3e8fe064239d5b1a4ca7782734bc875540245331a9900613204e113"
