"""Kernels: programs executed on columns of events, with NumPy."""
