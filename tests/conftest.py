"""Settings and fixtures shared by all tests."""

import pytest
from hypothesis import settings

from tests.soak import length

# The same examples in every run: a red build can be repeated, a green one means the same twice.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=length(30, 300))
settings.load_profile("steady")

# Files whose tests share a set-up of many seconds.
LONG_SETUPS = ("test_site.py", "test_replicas.py", "test_server_kill.py", "test_page.py")


def pytest_collection_modifyitems(items):
    """Run tests with a long set-up first.

    Workers of `--dist worksteal` take tests from the end of another worker's list. So one worker
    has all tests at the start of the list, and the set-up happens once.
    """
    items.sort(key=lambda item: item.path.name not in LONG_SETUPS)


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
