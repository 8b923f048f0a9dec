"""The sub-commands of `neelc`, one module each: `add` declares it, `run` does it."""
