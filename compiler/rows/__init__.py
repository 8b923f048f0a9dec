"""MATCH_RECOGNIZE: `bind/` resolves the clause, `plan/` makes the program that finds its matches."""
