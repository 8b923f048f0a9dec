"""Generate the parser from Neel.g4. Needs node; nobody else does: the result is committed.

python grammar/regenerate.py
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TOOL = ("npx", "--yes", "antlr-ng@1.0.10", "-Dlanguage=Python3", "--generate-listener", "false")


def grammar_hash() -> str:
    """What `neelc.grammar.generated.GRAMMAR_SHA256` must be equal to."""
    return hashlib.sha256((HERE / "Neel.g4").read_bytes()).hexdigest()


def main() -> int:
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([*TOOL, "-o", out, str(HERE / "Neel.g4")], check=False)
        if done.returncode != 0:
            return done.returncode
        for name in ("NeelLexer.py", "NeelParser.py"):
            [made] = Path(out).rglob(name)
            (HERE / "generated" / name).write_text(made.read_text())
    doc = '"""The parser made from Neel.g4 by grammar/regenerate.py."""'
    stamp = f'{doc}\n\nGRAMMAR_SHA256 = "{grammar_hash()}"\n'
    (HERE / "generated" / "__init__.py").write_text(stamp)
    return 0


if __name__ == "__main__":
    sys.exit(main())
