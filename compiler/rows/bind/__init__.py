"""Binding of MATCH_RECOGNIZE clauses. Read `recognize.py` first."""
