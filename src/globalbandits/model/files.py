"""Models from descriptions: plain data, such as the content of a JSON or TOML file.

docs/howto/formulas-and-files.md lists the keys.
"""

import json
import tomllib
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from globalbandits._validation import as_float, as_fraction, as_list, require, require_known, show
from globalbandits.errors import ModelError
from globalbandits.model.analysis.holder import Holder
from globalbandits.model.catalogue.names import families, full_name, parameters_of
from globalbandits.model.description import MAX_ARMS, MAX_TABLE_CELLS, VERSION, ModelBuilder
from globalbandits.model.formulas import Expression
from globalbandits.model.inputs import expand_grid
from globalbandits.model.objectives import Benefit, Profit
from globalbandits.model.reward_model import RewardModel
from globalbandits.model.vector.prior import NormalPrior
from globalbandits.model.vector_model import AnyModel, VectorModel, as_box

# Limits of an untrusted file, in addition to those of descriptions.
# Numbers, names, signs and functions of all arms' formulas together.
MAX_FORMULA_STEPS = 20_000
# Bytes of a file.
MAX_JSON_BYTES = 8_000_000
MAX_TOML_BYTES = 1_000_000

# A description has exactly one of these keys.
FORMS = ("family", "mean", "means", "table")
_COMMON_KEYS = ("version", "arms", "domain")
_VALUE_KEYS = ("value", "cost", "target", "penalty")
# Keys of every form except families, whose keys are the family's parameters.
_OPTION_KEYS = ("reward_range", *_VALUE_KEYS, "monotone")
_HOLDER_KEYS = ("lower_constant", "lower_exponent", "upper_constant", "upper_exponent")


# A file's content is checked key by key and never executed.


def load_model(path: str | PathLike[str]) -> AnyModel:
    """Load a model from a JSON or TOML file with a description, as in `RewardModel.from_dict`.

    A domain of named parameters gives a `VectorModel`.

    Nothing in the file is executed. A file may have at most 1,000 arms and 100,000 numbers in a
    table. Errors name the file, the key, the rule and the value.
    """
    content = read_data(path)
    try:
        return build_model(content)
    except ModelError as error:
        raise ModelError(f"{fspath(path)}: {error}") from None


def read_data(path: str | PathLike[str]) -> Any:
    """Return the content of a JSON or TOML file; a file that is too large is an error."""
    name = fspath(path)
    kind = Path(path).suffix.lower()
    rule = "end in .json or .toml"
    require(kind in (".json", ".toml"), "a model file", rule, name, ModelError)
    max_bytes = MAX_JSON_BYTES if kind == ".json" else MAX_TOML_BYTES
    try:
        with open(path, "rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        raise ModelError(f"{name} cannot be read: {error.strerror or error}") from None
    require(len(raw) <= max_bytes, name, f"have at most {max_bytes:,} bytes", "more", ModelError)
    try:
        text = raw.decode("utf-8")
        if kind == ".toml":
            return tomllib.loads(text)
        return json.loads(
            text, object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ModelError(f"{name} must not be nested that deep") from None
    except ValueError as error:
        # Invalid UTF-8, JSON or TOML, or an integer with too many digits.
        form = "TOML" if kind == ".toml" else "JSON"
        raise ModelError(f"{name} must be {form}: {error}") from None


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def build_model(description: object) -> AnyModel:
    """Build a model from a description; see `RewardModel.from_dict`, `VectorModel.from_dict`."""
    rule = "be a dict, or a table of a file"
    require(isinstance(description, Mapping), "model", rule, description, ModelError)
    content = dict(description)  # type: ignore[call-overload]
    for key in content:
        require(isinstance(key, str), "model", "have texts as keys", key, ModelError)
    form = _form_of(content)
    version = content.get("version", VERSION)
    known = type(version) is int and version == VERSION
    require(known, "version", f"be {VERSION}, the version this package reads", version, ModelError)
    if "prior" in content:
        prior = NormalPrior.from_dict(content.pop("prior"))
        model = build_model(content)
        rule = "be left out of a model with one unknown number, theta: give it to the policy"
        require(isinstance(model, VectorModel), "prior", rule, prior.to_dict(), ModelError)
        assert isinstance(model, VectorModel)
        return model.with_prior(prior)
    if "contexts" in content:
        in_contexts: AnyModel = _from_contexts(content, form)
        return in_contexts
    if form == "family":
        return _from_family(content)
    if isinstance(content.get("domain"), Mapping):
        return _from_vector_formula(content, form)
    known_keys = (*_COMMON_KEYS, form, *_OPTION_KEYS, *(() if form == "table" else ("holder",)))
    for key in content:
        require_known(f"a key of a model with {form}", key, known_keys, ModelError)
    if form == "mean":
        return _from_formula(content)
    return _from_formulas(content) if form == "means" else _from_table(content)


def _form_of(content: Mapping[str, Any]) -> str:
    forms = [form for form in FORMS if form in content]
    if not forms:
        for key in content:
            if key not in (*_COMMON_KEYS, *_OPTION_KEYS):
                known = (*FORMS, *_COMMON_KEYS, *_OPTION_KEYS)
                require_known("a key of a model", key, known, ModelError)
    rule = f"have one of the keys {', '.join(FORMS)}"
    require(len(forms) == 1, "model", rule, forms or list(content), ModelError)
    return forms[0]


def _arms_of(content: Mapping[str, Any]) -> list[Any]:
    given = content.get("arms")
    require(given is not None, "model", "have the key arms", list(content), ModelError)
    if isinstance(given, Mapping):
        return list(expand_grid("arms", given, MAX_ARMS, ModelError))
    arms = as_list("arms", given, "be a list of numbers or texts, or {from, to, step}", ModelError)
    require(1 <= len(arms) <= MAX_ARMS, "arms", f"be 1 to {MAX_ARMS:,}", len(arms), ModelError)
    for place, arm in enumerate(arms):
        plain = type(arm) in (float, str) or (type(arm) is int and abs(arm) <= 2**53)
        require(plain, f"arms[{place}]", "be a number or a text", arm, ModelError)
        require(arm == arm, f"arms[{place}]", "be a number or a text", arm, ModelError)
    return arms


def _from_family(content: dict[str, Any]) -> AnyModel:
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
        # The catalogues call the arms prices, doses or skeleton; the file calls them arms.
        text = str(error)
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


def _from_vector_formula(content: dict[str, Any], form: str) -> VectorModel:
    """Build a model whose domain has named parameters."""
    rule = "be given as mean, one formula, where the domain has named parameters"
    require(form == "mean", "model", rule, form, ModelError)
    known_keys = (*_COMMON_KEYS, "mean", "parameters", "reward_range", *_VALUE_KEYS)
    for key in content:
        require_known("a key of a model with named parameters", key, known_keys, ModelError)
    require(isinstance(content["mean"], str), "mean", "be a text", content["mean"], ModelError)
    box = _ordered_box(content)
    arms = _arms_of(content)
    worth = _worth(content, arms)
    if "values" in worth:
        raise ModelError(f"value must be one text where mean is, got {show(worth['values'])}")
    _check_steps("mean", [Expression(content["mean"], (*box, "arm"))], len(arms))
    options = {"reward_range": content["reward_range"]} if "reward_range" in content else {}
    return VectorModel(content["mean"], arms, box, **worth, **options)


def _ordered_box(content: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the domain of named parameters, in the order of ``parameters`` if that is given."""
    domain = as_box(content["domain"])
    names = as_list(
        "parameters", content.get("parameters", list(domain)), "be a list of names", ModelError
    )
    rule = f"name each of {', '.join(domain)} once"
    same = all(isinstance(name, str) for name in names) and sorted(names) == sorted(domain)
    require(same, "parameters", rule, names, ModelError)
    return {name: domain[name] for name in names}


def _from_contexts(content: dict[str, Any], form: str) -> Any:
    """Build a model whose mean, a formula, also depends on a context."""
    rule = "be given as mean, one formula, or as a table where there are contexts"
    require(form in ("mean", "table"), "model", rule, form, ModelError)
    several = form == "mean" and isinstance(content.get("domain"), Mapping)
    options = ("value", "reward_range") if several else ("value", "reward_range", "monotone")
    known_keys = (
        *_COMMON_KEYS,
        form,
        "contexts",
        *options,
        *(("parameters",) if several else ()),
    )
    for key in content:
        require_known("a key of a model with contexts", key, known_keys, ModelError)
    for key in ("mean", "value"):
        text = key not in content or isinstance(content[key], str)
        require(text, key, "be a text", content.get(key), ModelError)
    contexts = content["contexts"]
    rule = "be names of contexts, or a dict from names to numbers"
    listed = isinstance(contexts, list | Mapping) and bool(contexts)
    require(listed, "contexts", rule, contexts, ModelError)
    arms = _arms_of(content)
    n_cells = len(arms) * len(contexts)
    rule = f"be at most {MAX_ARMS:,} arms times contexts"
    require(n_cells <= MAX_ARMS, "contexts", rule, n_cells, ModelError)
    if form == "table":
        theta, means = _table_of(content)
        given = {key: content[key] for key in ("domain", *options) if key in content}
        return RewardModel.from_table(theta, means, arms, contexts=contexts, **given)
    domain = _ordered_box(content) if several else content.get("domain", (0.0, 1.0))
    numbers = tuple(domain) if several else ("theta",)
    formulas = [Expression(content["mean"], (*numbers, "arm", "context"))]
    if "value" in content:
        formulas.append(Expression(content["value"], ("mean", "arm", "context"), "value"))
    _check_steps("mean", formulas, n_cells)
    kind: Any = VectorModel if several else RewardModel
    given = {key: content[key] for key in options if key in content}
    return kind(content["mean"], arms, domain, contexts=contexts, **given)


def _from_formulas(content: dict[str, Any]) -> RewardModel:
    means = as_list("means", content["means"], "be a list of texts, one per arm", ModelError)
    for place, mean in enumerate(means):
        require(isinstance(mean, str), f"means[{place}]", "be a text", mean, ModelError)
    n_arms = len(means)
    require(1 <= n_arms <= MAX_ARMS, "means", f"be 1 to {MAX_ARMS:,}", n_arms, ModelError)
    arms = _arms_of(content) if "arms" in content else None
    n_named = n_arms if arms is None else len(arms)
    require(n_named == n_arms, "arms", f"be {n_arms}, one per mean", n_named, ModelError)
    _check_steps(
        "means", [Expression(text, ("theta",), f"means[{k}]") for k, text in enumerate(means)], 1
    )
    return RewardModel.from_functions(means, arms, **_worth(content, arms), **_options(content))


def _table_of(content: dict[str, Any]) -> tuple[list[float], list[list[float]]]:
    """Return the parameters and the rows of means of a description's table."""
    table = content["table"]
    rule = "have theta and means"
    whole = isinstance(table, Mapping) and set(table) == {"theta", "means"}
    require(whole, "table", rule, list(table) if isinstance(table, Mapping) else table, ModelError)
    theta = _numbers("table.theta", table["theta"])
    rows = as_list("table.means", table["means"], "be a list of rows, one per theta", ModelError)
    means = [_numbers(f"table.means[{place}]", row) for place, row in enumerate(rows)]
    n_cells = sum(len(row) for row in means)
    rule = f"have at most {MAX_TABLE_CELLS:,} numbers"
    require(n_cells <= MAX_TABLE_CELLS, "table.means", rule, n_cells, ModelError)
    for place, row in enumerate(means):
        same = len(row) == len(means[0])
        rule = f"have {len(means[0])} numbers, as the first row has"
        require(same, f"table.means[{place}]", rule, len(row), ModelError)
    return theta, means


def _from_table(content: dict[str, Any]) -> RewardModel:
    theta, means = _table_of(content)
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
    """Return the argument ``value`` or ``values``.

    The content is a formula, a formula per arm, or the parameters of a catalogue value.
    """
    given = [key for key in _VALUE_KEYS if key in content]
    if not given:
        return {}
    alone = given in (["value"], ["cost"]) or not {"value", "cost"} & set(given)
    rule = "be one of value, cost, or target and penalty"
    require(alone, "what decisions are worth", rule, given, ModelError)
    if given != ["value"]:
        named = _named_value(content)
        # A target alone does not depend on the arms, which may be labels.
        needs_numbers = not isinstance(named, Benefit) or named.penalty > 0.0
        for arm in arms or ():
            rule = f"be numbers where {given[0]} is given"
            require(not needs_numbers or not isinstance(arm, str), "arms", rule, arm, ModelError)
        return {"value": named}
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
    """Raise an error for formulas that would take long to analyse."""
    n_steps = n_arms * sum(formula.n_steps for formula in formulas)
    counted = "numbers, names, signs and functions for all arms together"
    rule = f"have at most {MAX_FORMULA_STEPS:,} {counted}"
    require(n_steps <= MAX_FORMULA_STEPS, name, rule, n_steps, ModelError)


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
        whole = isinstance(holder, Mapping) and set(holder) == set(_HOLDER_KEYS)
        require(whole, "holder", f"have {', '.join(_HOLDER_KEYS)}", holder, ModelError)
        options["holder"] = Holder(**holder)
    return options


ModelBuilder.build = build_model
