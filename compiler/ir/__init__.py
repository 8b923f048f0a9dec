"""The compiler's values: trees of immutable nodes."""
