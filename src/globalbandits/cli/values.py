"""Texts of the command line as values."""

from collections.abc import Sequence

from globalbandits.errors import ScenarioError

Number = int | float
MAX_GRID = 1_000_000


def parse_arms(text: str) -> list[Number | str]:
    """Arms from ``first:last:step``, or from a list with commas whose entries may be labels.

    The steps are decimal, so that 0.4:0.95:0.05 holds 0.45 and not 0.45000000000000007.

    >>> parse_arms("0.4:0.6:0.05")
    [0.4, 0.45, 0.5, 0.55, 0.6]
    >>> parse_arms("1,2.5,high")
    [1, 2.5, 'high']
    """
    if ":" not in text:
        return [parse_value(part.strip()) for part in text.split(",")]
    from globalbandits.model.grids import decimal_steps

    parts = text.split(":")
    if len(parts) != 3:
        raise ScenarioError(f"arms must be first:last:step or a list with commas, got {text!r}")
    return list(
        decimal_steps("arms", (parts[0], parts[1], parts[2]), MAX_GRID, ScenarioError, text)
    )


def parse_domain(text: str, name: str = "domain") -> tuple[float, float]:
    """The interval in ``low:high``.

    >>> parse_domain("0.5:2")
    (0.5, 2.0)
    """
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise ScenarioError(f"{name} must be low:high, got {text!r}") from None
    return low, high


def parse_parameters(texts: Sequence[str]) -> dict[str, object]:
    """Parameters in ``key=value``; a value with colons is an interval.

    >>> parse_parameters(["power=3", "reward_range=0:20", "kind=sales"])
    {'power': 3, 'reward_range': (0.0, 20.0), 'kind': 'sales'}
    """
    parameters: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not (key.isidentifier() and equals and value):
            raise ScenarioError(f"parameter must be key=value, got {text!r}")
        if key in parameters:
            raise ScenarioError(f"parameter must be given once, got {key!r} again")
        parameters[key] = parse_domain(value) if ":" in value else parse_value(value.strip())
    return parameters


def parse_value(text: str) -> Number | str:
    """A whole number, a number, or else the text itself.

    >>> parse_value("3"), parse_value("3.0"), parse_value("1e-3"), parse_value("low")
    (3, 3.0, 0.001, 'low')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
