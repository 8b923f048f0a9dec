"""Notebooks: `%load_ext neelc` and the cells of `%%neel`. IPython is imported by this package alone."""
