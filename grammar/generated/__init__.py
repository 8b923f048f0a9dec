"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "5ccd776f2dee79dc74e46ae6a8fb3011a36cb5619df0e013c22db3bb25b1079c"
