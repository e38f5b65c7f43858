"""From a description to a model: plain data, checked key by key, that executes nothing."""

from collections.abc import Mapping
from typing import Any

from globalbandits._validation import as_float, as_fraction, as_list, require, require_known, show
from globalbandits.errors import ModelError
from globalbandits.model.catalogue import families, full_name, parameters_of
from globalbandits.model.expressions import Expression
from globalbandits.model.grids import expand_grid
from globalbandits.model.holder import Holder
from globalbandits.model.limits import MOST_ARMS, MOST_CELLS, MOST_STEPS, VERSION
from globalbandits.model.named_values import Benefit, Profit
from globalbandits.model.reward_model import RewardModel

FORMS = ("family", "mean", "means", "table")
_COMMON = ("version", "arms", "domain")
_VALUES = ("value", "cost", "target", "penalty")
_OWN = ("reward_range", *_VALUES, "monotone")  # of all forms but families
_HOLDER = ("lower_constant", "lower_exponent", "upper_constant", "upper_exponent")


def build_model(description: object) -> RewardModel:
    """What `RewardModel.from_dict` gives."""
    rule = "be a dict, or a table of a file"
    require(isinstance(description, Mapping), "model", rule, description, ModelError)
    content = dict(description)  # type: ignore[call-overload]
    for key in content:
        require(isinstance(key, str), "model", "have texts as keys", key, ModelError)
    form = _form_of(content)
    version = content.get("version", VERSION)
    known = type(version) is int and version == VERSION
    require(known, "version", f"be {VERSION}, the version this package reads", version, ModelError)
    if form == "family":
        return _from_family(content)
    known_keys = (*_COMMON, form, *_OWN, *(() if form == "table" else ("holder",)))
    for key in content:
        require_known(f"a key of a model with {form}", key, known_keys, ModelError)
    if form == "mean":
        return _from_formula(content)
    return _from_formulas(content) if form == "means" else _from_table(content)


def _form_of(content: Mapping[str, Any]) -> str:
    forms = [form for form in FORMS if form in content]
    if not forms:
        for key in content:
            if key not in (*_COMMON, *_OWN):
                known = (*FORMS, *_COMMON, *_OWN)
                require_known("a key of a model", key, known, ModelError)
    rule = f"have one of the keys {', '.join(FORMS)}"
    require(len(forms) == 1, "model", rule, forms or list(content), ModelError)
    return forms[0]


def _arms_of(content: Mapping[str, Any]) -> list[Any]:
    given = content.get("arms")
    require(given is not None, "model", "have the key arms", list(content), ModelError)
    if isinstance(given, Mapping):
        return list(expand_grid("arms", given, MOST_ARMS, ModelError))
    arms = as_list("arms", given, "be a list of numbers or texts, or {from, to, step}", ModelError)
    require(1 <= len(arms) <= MOST_ARMS, "arms", f"be 1 to {MOST_ARMS:,}", len(arms), ModelError)
    for place, arm in enumerate(arms):
        plain = type(arm) in (float, str) or (type(arm) is int and abs(arm) <= 2**53)
        require(plain, f"arms[{place}]", "be a number or a text", arm, ModelError)
        require(arm == arm, f"arms[{place}]", "be a number or a text", arm, ModelError)
    return arms


def _from_family(content: dict[str, Any]) -> RewardModel:
    family = full_name(content.pop("family"))
    content.pop("version", None)
    known = ("version", "family", "arms", *parameters_of(family))
    for key in content:
        require_known(f"a key of {family}", key, known, ModelError)
    arms = _arms_of(content)
    del content["arms"]
    try:
        return families()[family](arms, **content)
    except ModelError as error:
        text = str(error)  # the catalogue calls arms what they are: prices, doses, ...
        for name in ("prices", "doses", "skeleton"):
            if text.startswith(name):
                text = f"arms{text.removeprefix(name)}"
        raise ModelError(text) from None


def _from_formula(content: dict[str, Any]) -> RewardModel:
    require(isinstance(content["mean"], str), "mean", "be a text", content["mean"], ModelError)
    arms = _arms_of(content)
    worth = _worth(content, arms)
    if "values" in worth:
        raise ModelError(f"value must be one text where mean is, got {show(worth['values'])}")
    _check_steps("mean", [Expression(content["mean"])], len(arms))
    return RewardModel(content["mean"], arms, **worth, **_options(content))


def _from_formulas(content: dict[str, Any]) -> RewardModel:
    means = as_list("means", content["means"], "be a list of texts, one per arm", ModelError)
    for place, mean in enumerate(means):
        require(isinstance(mean, str), f"means[{place}]", "be a text", mean, ModelError)
    n_arms = len(means)
    require(1 <= n_arms <= MOST_ARMS, "means", f"be 1 to {MOST_ARMS:,}", n_arms, ModelError)
    arms = _arms_of(content) if "arms" in content else None
    n_named = n_arms if arms is None else len(arms)
    require(n_named == n_arms, "arms", f"be {n_arms}, one per mean", n_named, ModelError)
    _check_steps(
        "means", [Expression(text, ("theta",), f"means[{k}]") for k, text in enumerate(means)], 1
    )
    return RewardModel.from_functions(means, arms, **_worth(content, arms), **_options(content))


def _from_table(content: dict[str, Any]) -> RewardModel:
    table = content["table"]
    rule = "have theta and means"
    whole = isinstance(table, Mapping) and set(table) == {"theta", "means"}
    require(whole, "table", rule, list(table) if isinstance(table, Mapping) else table, ModelError)
    theta = _numbers("table.theta", table["theta"])
    rows = as_list("table.means", table["means"], "be a list of rows, one per theta", ModelError)
    means = [_numbers(f"table.means[{place}]", row) for place, row in enumerate(rows)]
    n_cells = sum(len(row) for row in means)
    rule = f"have at most {MOST_CELLS:,} numbers"
    require(n_cells <= MOST_CELLS, "table.means", rule, n_cells, ModelError)
    for place, row in enumerate(means):
        same = len(row) == len(means[0])
        rule = f"have {len(means[0])} numbers, as the first row has"
        require(same, f"table.means[{place}]", rule, len(row), ModelError)
    arms = _arms_of(content) if "arms" in content else None
    worth = _worth(content, arms)
    try:
        return RewardModel.from_table(theta, means, arms, **worth, **_options(content))
    except ModelError as error:
        text = str(error)
        inside = text.startswith(("theta", "means"))
        raise ModelError(f"table.{text}" if inside else text) from None


def _numbers(name: str, values: Any) -> list[float]:
    listed = as_list(name, values, "be a list of numbers", ModelError)
    for place, value in enumerate(listed):
        if type(value) not in (int, float):
            raise ModelError(f"{name}[{place}] must be a number, got {show(value)}")
    return listed


def _worth(content: Mapping[str, Any], arms: list[Any] | None) -> dict[str, Any]:
    """The argument ``value`` or ``values``: a formula, a named value, or a formula per arm."""
    given = [key for key in _VALUES if key in content]
    if not given:
        return {}
    alone = given in (["value"], ["cost"]) or not {"value", "cost"} & set(given)
    rule = "be one of value, cost, or target and penalty"
    require(alone, "what decisions are worth", rule, given, ModelError)
    if given != ["value"]:
        for arm in arms or ():
            rule = f"be numbers where {given[0]} is given"
            require(not isinstance(arm, str), "arms", rule, arm, ModelError)
        return {"value": _named_value(content)}
    value = content["value"]
    n_arms = 1 if arms is None else len(arms)
    if isinstance(value, str):
        _check_steps("value", [Expression(value, ("mean", "arm"), "value")], n_arms)
        return {"value": value}
    listed = as_list("value", value, "be a text, or a list of texts", ModelError)
    for place, text in enumerate(listed):
        require(isinstance(text, str), f"value[{place}]", "be a text", text, ModelError)
    formulas = [Expression(text, ("mean",), f"value[{k}]") for k, text in enumerate(listed)]
    _check_steps("value", formulas, 1)
    return {"values": formulas}


def _check_steps(name: str, formulas: list[Expression], n_arms: int) -> None:
    """Refuse formulas that take long to analyse: a file must not block its reader."""
    n_steps = n_arms * sum(formula.n_steps for formula in formulas)
    rule = f"have at most {MOST_STEPS:,} numbers, names, signs and functions for all arms together"
    require(n_steps <= MOST_STEPS, name, rule, n_steps, ModelError)


def _named_value(content: Mapping[str, Any]) -> Profit | Benefit:
    if "cost" in content:
        return Profit(_not_negative("cost", content["cost"]))
    target = content.get("target")
    penalty = _not_negative("penalty", content.get("penalty", 0.0))
    return Benefit(None if target is None else as_fraction("target", target, ModelError), penalty)


def _not_negative(name: str, value: object) -> float:
    number = as_float(name, value, ModelError)
    require(number >= 0.0, name, "be at least 0", value, ModelError)
    return number


def _options(content: Mapping[str, Any]) -> dict[str, Any]:
    options = {
        key: content[key] for key in ("domain", "reward_range", "monotone") if key in content
    }
    if "holder" in content:
        holder = content["holder"]
        whole = isinstance(holder, Mapping) and set(holder) == set(_HOLDER)
        require(whole, "holder", f"have {', '.join(_HOLDER)}", holder, ModelError)
        options["holder"] = Holder(**holder)
    return options
