"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "86ebf4f55bff369a665bd1bc61961e0b1d65ce03bb032da10e672a15ea9fd78d"
