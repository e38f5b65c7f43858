"""From a model to its description, and into a file."""

import json
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._files import replacing
from globalbandits._validation import require
from globalbandits.errors import ModelError
from globalbandits.model.expressions import Expression
from globalbandits.model.functions import PerArm
from globalbandits.model.limits import MOST_ARMS, MOST_CELLS, VERSION
from globalbandits.model.named_values import Benefit, Profit

if TYPE_CHECKING:
    from globalbandits.model.reward_model import RewardModel

_STRAIGHT = 1e-12  # of the size of a value: more is a bend


def describe(model: "RewardModel") -> dict[str, Any]:
    """What `RewardModel.to_dict` gives."""
    _check_arms(model)
    mean, value, inverse, holder = model._sources
    head: dict[str, Any] = {"version": VERSION}
    if model._family is not None:
        return head | model._family
    if inverse is not None:
        raise ModelError(
            "inverse must be left out of a model that is described: it is a Python function"
        )
    described = head | _mean(model, mean) | {"arms": list(model.arms)}
    described["domain"] = list(model.domain)
    described["reward_range"] = list(model.reward_range)
    described |= _value(value)
    if not model.monotone:
        described["monotone"] = False
    if holder is not None:
        described["holder"] = {key: array.tolist() for key, array in vars(holder).items()}
    return described


def save(model: "RewardModel", path: str | PathLike[str]) -> None:
    """Write the description as JSON, whole or not at all."""
    check_model_path(path)
    text = json.dumps(describe(model), indent=2, ensure_ascii=False, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")


def check_model_path(path: str | PathLike[str]) -> Path:
    """The path of a model's file, or an error if no reader would take it for one.

    >>> check_model_path("model.pickle")
    Traceback (most recent call last):
        ...
    globalbandits.errors.ModelError: model path must end in .json, got 'model.pickle'
    """
    is_json = Path(path).suffix.lower() == ".json"
    require(is_json, "model path", "end in .json", fspath(path), ModelError)
    return Path(path)


def _check_arms(model: "RewardModel") -> None:
    require(
        model.n_arms <= MOST_ARMS,
        "arms",
        f"be at most {MOST_ARMS:,} to be described",
        model.n_arms,
        ModelError,
    )
    for arm in model.arms:
        plain = type(arm) in (int, float, str)
        require(plain, "arms", "be numbers or texts to be described", arm, ModelError)


def _mean(model: "RewardModel", mean: PerArm) -> dict[str, Any]:
    if isinstance(mean.joint, Expression):
        return {"mean": mean.joint.text}
    if mean.joint is None and all(isinstance(each, Expression) for each in mean.functions):
        return {"means": [each.text for each in mean.functions]}  # type: ignore[attr-defined]
    if mean.table is not None:
        knots, means = mean.table.knots, mean.table.means
        require(
            means.size <= MOST_CELLS,
            "table",
            f"have at most {MOST_CELLS:,} means to be described",
            means.size,
            ModelError,
        )
        return {"table": {"theta": knots.tolist(), "means": means.tolist()}}
    raise ModelError(
        "mean must be a formula, a table or of a catalogue to be described, got a Python function: "
        "write it as a text, or describe model.to_table()"
    )


def _value(value: PerArm | None) -> dict[str, Any]:
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


def value_as_data(model: "RewardModel") -> dict[str, Any]:
    """Arguments ``value`` or ``values`` for a model like this one that can be described."""
    value = model._sources[1]
    if value is None:
        return {}
    if value.joint is not None and isinstance(value.joint, (Expression, Profit, Benefit)):
        return {"value": value.joint}
    if value.joint is None and all(isinstance(each, Expression) for each in value.functions):
        return {"values": value.functions}
    return {"values": [_line(model, arm) for arm in range(model.n_arms)]}


def _line(model: "RewardModel", arm: int) -> str:
    """The value of an arm's mean as the formula of a straight line."""
    low, high = model.reward_range
    means = np.linspace(low, high, 33)
    worth = np.asarray(model.worth_of(arm, means))
    slope = float((worth[-1] - worth[0]) / (high - low))
    offset = float(worth[0] - slope * low)
    bend = float(np.abs(slope * means + offset - worth).max())
    straight = bend <= _STRAIGHT * max(
        float(np.abs(worth).max()), abs(slope) * max(abs(low), abs(high))
    )
    if not straight:
        raise ModelError(
            f"value of arm {model.arms[arm]!r} must be a formula or a straight line in the mean "
            f"to be described, bends by {bend:.3g}: write it as a text"
        )
    return f"{slope!r} * mean + {offset!r}" if offset else f"{slope!r} * mean"
