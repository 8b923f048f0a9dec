"""What neelc is installed with: a bill of materials (CycloneDX, JSON) and a list of licences (Markdown).

Both describe an environment into which neelc was installed and nothing else, so `make dist` makes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TOOLS = ("cyclonedx-bom", "pip-licenses", "twine")
"""What makes and checks them, and the text that an index of packages shows."""


def with_main_component(bill: dict[str, Any], name: str) -> dict[str, Any]:
    """The bill of an environment as that of one package, with all others as what it depends on.

    >>> bill = {"metadata": {}, "components": [{"name": "neelc"}, {"name": "numpy"}]}
    >>> with_main_component(bill, "neelc")
    {'metadata': {'component': {'name': 'neelc'}}, 'components': [{'name': 'numpy'}]}
    """
    (main,) = (one for one in bill["components"] if one["name"] == name)
    others = [one for one in bill["components"] if one is not main]
    return {**bill, "metadata": {**bill["metadata"], "component": main}, "components": others}


def write_bill(made: Path, out: Path, name: str, installed: dict[str, str]) -> int:
    """Write the bill of materials to its place; it must list what is installed. Gives the number of packages.

    >>> import tempfile; place = Path(tempfile.mkdtemp()) / "bill.json"
    >>> component = {"name": "neelc", "version": "1"}
    >>> _ = place.write_text(json.dumps({"metadata": {}, "components": [component]}))
    >>> write_bill(place, place, "neelc", {"neelc": "1"}), place.read_text()[:16]
    (1, '{\\n "metadata": {')
    """
    bill = json.loads(made.read_text())
    listed = {one["name"]: one["version"] for one in bill["components"]}
    assert listed == installed, set(listed.items()) ^ set(installed.items())
    out.write_text(json.dumps(with_main_component(bill, name), indent=1) + "\n")
    return len(listed)


def licence_table(found: list[dict[str, str]]) -> str:
    """The list of licences; a package without one is an error of whoever lists it.

    >>> print(licence_table([{"Name": "numpy", "Version": "2.4", "License": "BSD-3-Clause"}]))
    | package | version | licence |
    |---|---|---|
    | numpy | 2.4 | BSD-3-Clause |
    <BLANKLINE>
    """
    unknown = [one["Name"] for one in found if one["License"].strip() in ("", "UNKNOWN")]
    assert not unknown, f"no licence is known of {', '.join(unknown)}"
    lines = [f"| {one['Name']} | {one['Version']} | {first_line(one['License'])} |" for one in found]
    return "\n".join(["| package | version | licence |", "|---|---|---|", *lines, ""])


def first_line(licence: str) -> str:
    """Some packages give the whole text of their licence.

    >>> first_line("MIT License\\n\\nPermission is hereby granted")
    'MIT License'
    """
    return licence.strip().splitlines()[0].replace("|", "/")
