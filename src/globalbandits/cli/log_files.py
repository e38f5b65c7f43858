"""Read decisions from a CSV file."""

from pathlib import Path
from typing import Any

from globalbandits.cli.arguments import parse_value
from globalbandits.errors import EvidenceError


def read_rows(
    path: Path, arm: str, reward: str, arms: tuple[Any, ...]
) -> tuple[list[int], list[float]]:
    """Return the indices of arms and the rewards, row by row."""
    import pandas as pd

    from globalbandits.plots.labels import escape_controls

    try:
        header = [str(name) for name in pd.read_csv(path, nrows=0).columns]
        for column in (arm, reward):
            if column not in header:
                shown = escape_controls(", ".join(header))
                raise EvidenceError(f"log must have a column {column!r}, has: {shown}")
        frame = pd.read_csv(path, usecols=[arm, reward], dtype=str, keep_default_na=False)
    except EvidenceError:
        raise
    except (OSError, ValueError) as error:
        why = escape_controls(str(error).strip())
        raise EvidenceError(f"log must be a readable CSV file, got {path}: {why}") from None
    if frame.empty:
        raise EvidenceError(f"log must have a row for every decision, got none in {path}")
    numbers = pd.to_numeric(frame[reward], errors="coerce")
    if numbers.isna().any():
        row = int(numbers.isna().to_numpy().argmax())
        found = frame[reward].iloc[row]
        raise EvidenceError(f"{reward} in row {row + 1} must be a number, got {found!r}")
    codes, texts = pd.factorize(frame[arm])
    first = {code: row for row, code in reversed(list(enumerate(codes.tolist())))}
    known = [
        arm_index(f"{arm} in row {first[code] + 1}", text, arms) for code, text in enumerate(texts)
    ]
    return [known[code] for code in codes], numbers.astype(float).tolist()


def arm_index(name: str, text: str, arms: tuple[Any, ...]) -> int:
    """Return the index of the arm with this label or number."""
    from globalbandits._rewards import index_of

    written = [str(value) for value in arms]
    return written.index(text) if text in written else index_of(parse_value(text), arms, name)
