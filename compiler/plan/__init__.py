"""What a query needs to be executed: what is read, and the automaton that a match walks through."""
