"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "e22a8c777232044d3db7f5a44030b5bbc6eba162ac918e5c7d645e3756896149"
