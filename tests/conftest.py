"""What all tests share: the options `--update` and `--thorough`, and the profiles for random tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every machine and in every run: a red build can be repeated. No deadline: timing
# belongs to tests/bench.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# `pytest --hypothesis-profile=explore` looks for new counter-examples.
settings.register_profile("explore", settings.get_profile("repeatable"), derandomize=False, max_examples=2000)
settings.load_profile("repeatable")


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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: takes long; runs with --thorough (make thorough)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What asks Spark comes first: with several processes, that takes the longest."""
    items.sort(key=lambda item: "spark" not in item.path.parts)
    if not config.getoption("--thorough"):
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="never: runs with --thorough"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Without its groups, pytest-xdist would start a Spark session in every process, in silence."""
    grouped = [item for item in session.items if item.get_closest_marker("xdist_group")]
    if session.config.getoption("loadgroup", False) and grouped and "@" not in grouped[0].nodeid:
        raise pytest.UsageError("pytest-xdist does not see the groups of tests: see tests/versions.txt")


@pytest.fixture(scope="session")
def update(request: pytest.FixtureRequest) -> bool:
    """Whether expectations are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update"))
