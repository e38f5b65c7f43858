"""Model files: JSON or TOML that holds a description, and nothing that could be executed."""

import json
import tomllib
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from globalbandits._validation import require
from globalbandits.errors import ModelError
from globalbandits.model.limits import LARGEST_JSON, LARGEST_TOML
from globalbandits.model.reading import build_model
from globalbandits.model.reward_model import RewardModel


def load_model(path: str | PathLike[str]) -> RewardModel:
    """The model in a JSON or TOML file: a description, as `RewardModel.from_dict` takes it.

    Nothing in the file is executed. A file may have at most 1,000 arms and 100,000 numbers in a
    table; errors name the file, the key, the rule and the value.
    """
    content = read_data(path)
    try:
        return build_model(content)
    except ModelError as error:
        raise ModelError(f"{fspath(path)}: {error}") from None


def read_data(path: str | PathLike[str]) -> Any:
    """What a JSON or TOML file holds, by its ending; files that are too large are not read."""
    name = fspath(path)
    kind = Path(path).suffix.lower()
    rule = "end in .json or .toml"
    require(kind in (".json", ".toml"), "a model file", rule, name, ModelError)
    most = LARGEST_JSON if kind == ".json" else LARGEST_TOML
    try:
        with open(path, "rb") as file:
            raw = file.read(most + 1)
    except OSError as error:
        raise ModelError(f"{name} cannot be read: {error.strerror or error}") from None
    require(len(raw) <= most, name, f"have at most {most:,} bytes", "more", ModelError)
    try:
        text = raw.decode("utf-8")
        if kind == ".toml":
            return tomllib.loads(text)
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise ModelError(f"{name} must not be nested that deep") from None
    except ValueError as error:  # of letters, of JSON, of TOML, of integers with too many digits
        form = "TOML" if kind == ".toml" else "JSON"
        raise ModelError(f"{name} must be {form}: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number")
