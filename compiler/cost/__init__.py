"""Statistics, estimates, sharing, and the choice between the forms of a query."""
