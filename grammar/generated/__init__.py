"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "b8fc5bf392b353a5810b60e304ec2764095b52f918f3226bb74cf3b49229a09f"
