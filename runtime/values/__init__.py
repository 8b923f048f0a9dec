"""Operations on values: on columns with NumPy, and on single values."""
