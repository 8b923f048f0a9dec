"""Tables of events: reading files into typed rows, and values as text."""
