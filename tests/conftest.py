"""Settings and fixtures shared by all tests."""

import gc

import pytest
from hypothesis import settings

from tests.soak import length

# The same examples in every run: a red build can be repeated, a green one means the same twice.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=length(30, 300))
settings.load_profile("steady")

# Collected tests are many objects that stay. Frequent collections take 4 % of the time.
gc.set_threshold(100_000)


def pytest_collection_modifyitems(items):
    """Run the site's and the service's tests first.

    They wait for other processes half of their time. `make test` checks types and the oldest
    versions meanwhile. Workers of `--dist worksteal` take tests from the end of another worker's
    list, so one worker has all of these tests, and each of their long set-ups happens once.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(("tests/test_site", "tests/service/")))


@pytest.fixture
def blank_figures(monkeypatch):
    """Figures are made but not drawn: for tests of the text around them."""
    from matplotlib.figure import Figure

    def write(figure, target, **options):
        blank = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'
        if hasattr(target, "write"):
            target.write(blank)
        else:
            with open(target, "wb") as file:
                file.write(blank)

    monkeypatch.setattr(Figure, "savefig", write)


@pytest.fixture
def interpreted(monkeypatch):
    """Simulations run in plain Python: for short ones, whose policies no other test compiles."""
    from globalbandits.compiling.engine import Engine

    initialise = Engine.__init__

    def initialise_interpreted(engine, **options):
        initialise(engine, **{**options, "interpreted": True})

    monkeypatch.setattr(Engine, "__init__", initialise_interpreted)
