"""Descriptions: a model as plain data for JSON, in parts that all kinds of models share.

docs/howto/formulas-and-files.md lists the keys. `model.files` reads descriptions.
"""

import json
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from globalbandits._files import replacing
from globalbandits._validation import require
from globalbandits.errors import ModelError
from globalbandits.model.analysis.functions import PerArm
from globalbandits.model.formulas import Expression
from globalbandits.model.objectives import Benefit, Profit

# The version of the description format.
VERSION = 1

# Limits of an untrusted file.
MAX_ARMS = 1_000
MAX_TABLE_CELLS = 100_000


class ModelBuilder:
    """The function that builds a model of any kind from a description.

    `model.files` sets it. The classes of models call it in `from_dict` and need not import what
    builds them: a description may name a family of the catalogues, which import the classes.
    """

    build: Callable[[Mapping[str, Any]], Any]


def check_arms(arms: tuple[Any, ...]) -> None:
    """Raise an error unless a description can have these arms."""
    rule = f"be at most {MAX_ARMS:,} to be described"
    require(len(arms) <= MAX_ARMS, "arms", rule, len(arms), ModelError)
    for arm in arms:
        plain = type(arm) in (int, float, str)
        require(plain, "arms", "be numbers or texts to be described", arm, ModelError)


def describe_mean(mean: PerArm) -> dict[str, Any]:
    """Return the key of the means: mean, means or table."""
    if isinstance(mean.joint, Expression):
        return {"mean": mean.joint.text}
    if mean.joint is None and all(isinstance(each, Expression) for each in mean.functions):
        return {"means": [each.text for each in mean.functions]}  # type: ignore[attr-defined]
    if mean.table is not None:
        knots, means = mean.table.knots, mean.table.means
        require(
            means.size <= MAX_TABLE_CELLS,
            "table",
            f"have at most {MAX_TABLE_CELLS:,} means to be described",
            means.size,
            ModelError,
        )
        return {"table": {"theta": knots.tolist(), "means": means.tolist()}}
    raise ModelError(
        "mean must be a formula, a table or of a catalogue to be described, got a Python function: "
        "write it as a text, or describe model.to_table()"
    )


def describe_value(value: PerArm | None) -> dict[str, Any]:
    """Return the keys of what decisions are worth: value, cost, or target and penalty."""
    if value is None:
        return {}
    match value.joint:
        case Expression(text=text):
            return {"value": text}
        case Profit(cost=cost):
            return {"cost": cost}
        case Benefit(target=target, penalty=penalty):
            return ({} if target is None else {"target": target}) | {"penalty": penalty}
    if value.joint is None and all(isinstance(each, Expression) for each in value.functions):
        return {"value": [each.text for each in value.functions]}  # type: ignore[attr-defined]
    raise ModelError(
        "value must be a formula to be described, got a Python function: write it as a text "
        'such as "(arm - 3.1) * mean"'
    )


def save_description(description: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Write a description to a JSON file. The file is replaced atomically."""
    check_model_path(path)
    text = json.dumps(description, indent=2, ensure_ascii=False, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")


def check_model_path(path: str | PathLike[str]) -> Path:
    """Return the path of a model file to write; an error unless it ends in .json.

    >>> check_model_path("model.pickle")
    Traceback (most recent call last):
        ...
    globalbandits.errors.ModelError: model path must end in .json, got 'model.pickle'
    """
    is_json = Path(path).suffix.lower() == ".json"
    require(is_json, "model path", "end in .json", fspath(path), ModelError)
    return Path(path)
