"""Specifications of the experiments, read from TOML files and checked."""

import dataclasses
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import PolicyError, ScenarioError
from globalbandits.lab.paper.verdicts import Published
from globalbandits.model import RewardModel
from globalbandits.model.catalogue import demand
from globalbandits.policies import Policy

_KEYS = {
    "title": str,
    "text": str,
    "horizon": int,
    "runs": int,
    "model": str,
    "settings": dict,
    "policies": dict,
}
_CLAIMS = {"published": dict, "statements": dict, "reasons": dict}
_OPTIONAL_KEYS = {"number": int, "runs_stated": bool, "joint": dict} | _CLAIMS


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicySpec:
    """A policy of an experiment: its label and its parameters, some of which may be names."""

    label: str
    parameters: Mapping[str, Any]

    def build(self, **names: float) -> Policy:
        """Return the policy; a parameter that is one of ``names`` takes that value.

        >>> spec = PolicySpec(label="W", parameters={"policy": "buw", "scale": "small"})
        >>> spec.build(small=0.1)
        BUW(scale=0.1)
        """
        filled = {
            key: names.get(value, value) if isinstance(value, str) else value
            for key, value in self.parameters.items()
        }
        return Policy.from_dict(filled)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """The paper's claim about an entry, and the reason if it cannot be reproduced."""

    published: Published | None = None
    statement: str = ""
    why: str = ""
    number: str = ""  # entries with the same name are readings of one number of the paper


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """One experiment: its simulation and the paper's claims about the outcome."""

    name: str
    number: int | None  # number in the paper; None if it is not in the paper
    title: str
    text: str
    horizon: int
    runs: int
    model: str
    settings: Mapping[str, Any]
    policies: Mapping[str, PolicySpec]
    claims: Mapping[str, Claim]
    joint: Mapping[str, tuple[str, ...]]  # entries with printed numbers, by title of their table

    def setting(self, name: str) -> float:
        """Return a number of the settings."""
        require(name in self.settings, "settings", f"have {name}", list(self.settings), _ERROR)
        return as_float(f"settings.{name}", self.settings[name], _ERROR)

    def setting_list(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers of the settings."""
        require(name in self.settings, "settings", f"have {name}", list(self.settings), _ERROR)
        values = self.settings[name]
        is_list = isinstance(values, list) and len(values) > 0
        require(is_list, f"settings.{name}", "be a list of numbers", values, _ERROR)
        return tuple(as_float(f"settings.{name}", value, _ERROR) for value in values)

    def claim(self, entry: str) -> Claim:
        """Return the paper's claim about an entry; an empty claim if there is none."""
        return self.claims.get(entry, Claim())


_ERROR = ScenarioError


def load_spec(name: str) -> Spec:
    """Return the specification in one of the files of this package, by its name.

    >>> load_spec("comparison").title
    'Comparison at θ = 0.4'
    """
    return parse_spec(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"), name)


def parse_spec(text: str, name: str) -> Spec:
    """Return a specification from the text of a TOML file; errors mention ``name``."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{name}.toml must be TOML: {error}") from None
    try:
        return _as_spec(content, name)
    except (ScenarioError, PolicyError) as error:
        raise ScenarioError(f"{name}.toml: {error}") from None


def load_model(name: str) -> RewardModel:
    """Return one of the models of ``models.toml``, by its name.

    >>> load_model("pricing").n_arms
    12
    """
    models = tomllib.loads(files(__package__).joinpath("models.toml").read_text("utf-8"))
    require(name in models, "model", f"be one of {', '.join(models)}", name, _ERROR)
    parameters = dict(models[name])
    build = getattr(demand, parameters.pop("family"))
    model: RewardModel = build(parameters.pop("prices"), **parameters)
    return model


def _as_spec(content: dict[str, Any], name: str) -> Spec:
    for key in content:
        known = _KEYS | _OPTIONAL_KEYS
        require(key in known, "a key", f"be one of {', '.join(known)}", key, _ERROR)
    for key in _KEYS:
        require(key in content, "the spec", f"have the key {key}", list(content), _ERROR)
    for key, kind in (_KEYS | _OPTIONAL_KEYS).items():
        value = content.get(key, kind())
        require(isinstance(value, kind), key, f"be of type {kind.__name__}", value, _ERROR)
    number = content.get("number")
    stated = content.get("runs_stated", True)
    claims = _as_claims(*(content.get(key, {}) for key in _CLAIMS), stated=stated)
    return Spec(
        name=name,
        number=None if number is None else as_integer("number", number, 1, _ERROR),
        title=content["title"],
        text=" ".join(content["text"].split()),
        horizon=as_integer("horizon", content["horizon"], 1, _ERROR),
        runs=as_integer("runs", content["runs"], 2, _ERROR),
        model=content["model"],
        settings=content["settings"],
        policies={key: _as_policy(key, value) for key, value in content["policies"].items()},
        claims=claims,
        joint=_as_joint(content.get("joint", {}), claims),
    )


def _as_policy(key: str, content: Any) -> PolicySpec:
    is_table = isinstance(content, dict) and "label" in content and "policy" in content
    require(is_table, f"policies.{key}", "have a label and a policy", content, _ERROR)
    parameters = {name: value for name, value in content.items() if name != "label"}
    return PolicySpec(label=str(content["label"]), parameters=parameters)


def _as_claims(
    published: dict[str, Any], statements: dict[str, Any], reasons: dict[str, Any], *, stated: bool
) -> dict[str, Claim]:
    claims: dict[str, Claim] = {}
    for entry, content in published.items():
        texts = _as_texts(f"published.{entry}", content, "printed", reasons)
        claims[entry] = Claim(
            published=Published(printed=texts["printed"], stated=stated),
            why=texts.get("why", ""),
            number=texts.get("number", entry),
        )
    for entry, content in statements.items():
        texts = _as_texts(f"statements.{entry}", content, "text", reasons)
        claims[entry] = Claim(
            statement=texts["text"],
            why=texts.get("why", ""),
            number=texts.get("number", entry),
        )
    return claims


def _as_joint(
    content: Mapping[str, Any], claims: Mapping[str, Claim]
) -> dict[str, tuple[str, ...]]:
    for title, keys in content.items():
        is_list = isinstance(keys, list) and len(keys) > 1
        require(is_list, f"joint.{title}", "be a list of entries", keys, _ERROR)
        for key in keys:
            printed = key in claims and claims[key].published is not None
            require(printed, f"joint.{title}", "name published numbers", key, _ERROR)
    return {title: tuple(keys) for title, keys in content.items()}


def _as_texts(name: str, content: Any, needed: str, reasons: dict[str, Any]) -> dict[str, str]:
    """Return the texts of a claim, with the name of a reason in ``why`` replaced by the reason."""
    allowed = isinstance(content, dict) and {needed} <= content.keys() <= {needed, "why", "number"}
    require(allowed, name, f"have {needed}, and perhaps why and number", content, _ERROR)
    for key, value in content.items():
        require(isinstance(value, str), f"{name}.{key}", "be a text", value, _ERROR)
    texts = dict(content)
    if "why" in texts:
        known = f"be one of {', '.join(reasons)}"
        require(texts["why"] in reasons, f"{name}.why", known, texts["why"], _ERROR)
        texts["why"] = " ".join(str(reasons[texts["why"]]).split())
    return texts
