"""neelc: complex event processing for everyone who has Spark."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    """`neelc.__version__`, read when it is asked for: importing neelc stays free."""
    if name == "__version__":
        from importlib.metadata import version

        return version("neelc")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
