"""Examples of spec files, with notes, to start from."""

from importlib.resources import files

from globalbandits._validation import require_known
from globalbandits.errors import ScenarioError

NAMES = ("pricing", "dose", "drift", "bias", "population")


def example_text(name: str) -> str:
    """The text of an example.

    >>> example_text("pricing").splitlines()[0]
    '# Which policy earns most while the price sensitivity is unknown?'
    """
    require_known("example", name, NAMES, ScenarioError)
    return files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
