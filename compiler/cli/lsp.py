"""`neelc lsp`: answers for editors."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from neelc.cli.options import add_inputs
from neelc.files import CallError

DESCRIPTION = """Start the language server, which talks to an editor over standard input and output: errors as
you type, completion, hover, definitions, symbols, formatting. Editors start it themselves; see
docs/how-to/use-an-editor.md. Requires pygls: pip install 'neelc[lsp]'."""

EXAMPLES = """examples:
  neelc lsp
  neelc lsp --stream Trades=trades.parquet,timestamp=ts    streams that scripts do not declare
"""


def add(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser)
    parser.add_argument(
        "--stdio", action="store_true", help="accepted because many editors add it; always on"
    )


def run(options: argparse.Namespace) -> int:
    if find_spec("pygls") is None:
        raise CallError("lsp requires pygls, which is not installed: pip install 'neelc[lsp]'")
    from importlib.metadata import version

    from neelc.cli.options import defined_by, given_arguments, given_stream
    from neelc.tools.editors.document import CallInputs, remembered
    from neelc.tools.editors.server import serve

    given = [remembered(given_stream(text)) for text in options.stream]
    aggregates, agents = defined_by(options.aggregates)
    arguments = given_arguments(options)
    serve(CallInputs(given, arguments, aggregates, agents, options.untrusted), version("neelc"))
    return 0
