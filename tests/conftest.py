"""What all tests share: `--update`, `--thorough` and `--quick`, and the profiles for random tests."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from jvm import SHORT, options
from quick import NoProcesses, quick_tests

# The same examples on every machine and in every run: a red build can be repeated. No deadline: timing
# belongs to tests/bench.
settings.register_profile(
    "thorough",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# The same examples find nothing new in another run: fewer are repeated in each, more with --thorough.
settings.register_profile("repeatable", settings.get_profile("thorough"), max_examples=50)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=20)
# `pytest --hypothesis-profile=explore` looks for new counter-examples.
settings.register_profile("explore", settings.get_profile("thorough"), derandomize=False, max_examples=2000)
settings.load_profile("repeatable")

# Tests start many processes, and Spark starts workers: each would compile all modules that it loads. `make`
# does the same; this is for pytest alone.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

os.environ.setdefault("SPARK_SUBMIT_OPTS", options())
os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(SHORT))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="write what the program says now into the expectations of cases, plans and generated pages",
    )

    parser.addoption(
        "--thorough",
        action="store_true",
        help="also run the tests that take long: faults, tutorials and variants over real streams",
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="run a sample of the tests that start no process: no Java, no browser",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: takes long; runs with --thorough (make thorough)")
    config.addinivalue_line("markers", "long: takes seconds; left out by --quick (make quick)")
    if config.getoption("--quick"):
        config.pluginmanager.register(NoProcesses())
    if not config.getoption("--hypothesis-profile"):
        chosen = [name for name in ("quick", "thorough") if config.getoption(f"--{name}")]
        settings.load_profile((*chosen, "repeatable")[0])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`--quick` does not even load what asks Spark."""
    return True if config.getoption("--quick") and "spark" in collection_path.parts else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What asks Spark comes first: with several processes, that takes the longest."""
    items.sort(key=lambda item: "spark" not in item.path.parts)
    if config.getoption("--quick"):
        chosen = set(quick_tests(items))
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]
    if not config.getoption("--thorough"):
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="never: runs with --thorough"))


def pytest_collection_finish(session: pytest.Session) -> None:
    _keep_from_the_collector()
    _check_groups(session)


def _keep_from_the_collector() -> None:
    """Modules and tests stay to the end: Python's collector need not look through them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _check_groups(session: pytest.Session) -> None:
    """Without its groups, pytest-xdist would start a Spark session in every process, in silence."""
    grouped = [item for item in session.items if item.get_closest_marker("xdist_group")]
    if session.config.getoption("loadgroup", False) and grouped and "@" not in grouped[0].nodeid:
        raise pytest.UsageError("pytest-xdist does not see the groups of tests: see tests/versions.txt")


@pytest.fixture(scope="session")
def update(request: pytest.FixtureRequest) -> bool:
    """Whether expectations are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update"))
