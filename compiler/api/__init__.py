"""neelc as a library: `sql`, `Session` and what they give back."""
