"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "36aa780dd30b992b72842b69744d289d770c0df459cb9dfd5a99f4ab783c5b63"
