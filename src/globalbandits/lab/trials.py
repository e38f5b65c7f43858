"""Trials in a TOML file: dose-finding designs, simulated in scenarios of true toxicity rates."""

import dataclasses
import inspect
import os
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_integer, require, require_known
from globalbandits.errors import ScenarioError
from globalbandits.model import AnyModel
from globalbandits.model.catalogue.names import build_family
from globalbandits.policies import Policy, StopWhen
from globalbandits.policies.wrappers.limited import Limited
from globalbandits.simulation.sweeps.spec import within
from globalbandits.trial import BOIN, Design, Keyboard, ThreePlusThree, blrm, crm, tite_crm
from globalbandits.trial.design import Outcomes

if TYPE_CHECKING:
    import pandas as pd

_DESIGNS: dict[str, Callable[..., Any]] = {
    "crm": crm,
    "tite_crm": tite_crm,
    "blrm": blrm,
    "boin": BOIN,
    "keyboard": Keyboard,
    "3+3": ThreePlusThree,
}
_KEYS = {
    "target",
    "patients",
    "runs",
    "more_than",
    "doses",
    "model",
    "stop",
    "designs",
    "scenarios",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trial:
    """The designs of a trial and the scenarios of true rates on which they are simulated.

    Attributes:
        target: the target rate of DLTs.
        patients: the largest number of patients of a trial.
        runs: number of trials of each scenario.
        more_than: a trial with more patients above the target than this counts as exceeded.
        doses: labels of the doses.
        designs: designs by name.
        scenarios: true rates of the doses by the name of the scenario.
    """

    target: float
    patients: int
    runs: int
    more_than: float
    doses: tuple[str, ...]
    designs: Mapping[str, Design]
    scenarios: Mapping[str, tuple[float, ...]]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about inputs that are allowed but may be mistakes."""
        of_designs = [text for design in self.designs.values() for text in design.remarks]
        turning = [
            f"scenario {name!r}: the true rate falls from one dose to the next"
            for name, rates in self.scenarios.items()
            if np.any(np.diff(rates) < 0.0)
        ]
        return tuple(dict.fromkeys([*of_designs, *turning]))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Played:
    """The simulated trials by scenario and design."""

    trial: Trial
    results: Mapping[str, Mapping[str, Outcomes]]

    def table(self) -> "pd.DataFrame":
        """Return one row per scenario and design: recommended doses and characteristics."""
        import pandas as pd

        frames = {
            name: pd.concat([self.selection(name), self.characteristics(name)], axis=1)
            for name in self.results
        }
        return pd.concat(frames, names=["scenario", "design"])

    def selection(self, scenario: str) -> "pd.DataFrame":
        """Return the shares of recommended doses, and of none, one row per design."""
        import pandas as pd

        rows = {
            design: [*found.selected, found.none]
            for design, found in self.results[scenario].items()
        }
        columns = [*self.trial.doses, "none"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def characteristics(self, scenario: str) -> "pd.DataFrame":
        """Return what designs achieve in a scenario, one row per design.

        ``correct``: recommends a best dose, or none if the lowest is too toxic. ``above``: share of
        patients on doses above the target. ``exceeded``: share of trials with more than
        ``more_than`` of them. ``patients`` and ``DLTs``: means per trial.
        """
        import pandas as pd

        rates = np.asarray(self.trial.scenarios[scenario])
        rows = {}
        for name, found in self.results[scenario].items():
            best, first = self.trial.designs[name].best_dose(rates)
            rows[name] = {
                "correct": found.none if first == 0 else float(found.selected[best]),
                "above": float(found.above_target.sum() / found.patients.sum()),
                "exceeded": float((found.above_target > self.trial.more_than).mean()),
                "patients": float(found.patients.mean()),
                "DLTs": float(found.events.sum()),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def shares(self) -> dict[str, FloatArray]:
        """Return the shares of recommended doses by "scenario: design"."""
        return {
            f"{name}: {design}": np.append(found.selected, found.none)
            for name, designs in self.results.items()
            for design, found in designs.items()
        }


def load_trial(path: "str | os.PathLike[str] | None" = None) -> Trial:
    """Return the trial of a TOML file; the example of the package by default.

    >>> trial = load_trial()
    >>> list(trial.designs), trial.patients
    (['CRM', 'BOIN', '3+3', 'WAGP'], 36)
    """
    if path is None:
        return parse_trial(tomllib.loads(example_text()))
    try:
        return parse_trial(tomllib.loads(Path(path).read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(
            f"trial must be a readable TOML file, got {os.fspath(path)!r}: {error}"
        ) from None


def example_text() -> str:
    """Return the text of the example's file."""
    return files("globalbandits.lab").joinpath("trial.toml").read_text("utf-8")


def parse_trial(content: Mapping[str, Any]) -> Trial:
    """Return the trial of a parsed file."""
    for name in content:
        rule = f"have keys among {', '.join(sorted(_KEYS))}"
        require(name in _KEYS, "trial", rule, name, ScenarioError)
    for name in ("target", "patients", "designs", "scenarios"):
        require(name in content, "trial", f"have {name}", sorted(content), ScenarioError)
    target = as_float("target", content["target"], ScenarioError)
    patients = as_integer("patients", content["patients"], 1, ScenarioError)
    model = None if "model" not in content else _parse_model(content["model"], target)
    for name in ("designs", "scenarios"):
        filled = isinstance(content[name], Mapping) and len(content[name]) > 0
        require(filled, name, "be a table with at least one entry", content[name], ScenarioError)
    first = next(iter(content["scenarios"].values()))
    n_doses = len(first) if isinstance(first, list) else 0
    n_doses = n_doses if model is None else model.n_arms
    common: dict[str, Any] = {
        "doses": _parse_doses(content.get("doses"), n_doses),
        "target": target,
        "patients": patients,
    }
    stop = None if "stop" not in content else StopWhen.from_dict(content["stop"])
    designs = {
        name: _parse_design(name, spec, model, common, stop)
        for name, spec in content["designs"].items()
    }
    scenarios = {}
    for name, rates in content["scenarios"].items():
        with within(f"scenarios.{name}", content["scenarios"]):
            checked = next(iter(designs.values())).as_rates(rates)
            scenarios[name] = tuple(checked.tolist())
    return Trial(
        target=target,
        patients=patients,
        runs=as_integer("runs", content.get("runs", 10_000), 1, ScenarioError),
        more_than=as_float("more_than", content.get("more_than", patients // 3), ScenarioError),
        doses=common["doses"],
        designs=designs,
        scenarios=scenarios,
    )


def _parse_design(
    name: str,
    spec: object,
    model: AnyModel | None,
    common: Mapping[str, Any],
    stop: StopWhen | None,
) -> Design:
    """Return a design of the catalogue by its name, or one of a policy for the trial's model."""
    label = f"designs.{name}"
    whole = isinstance(spec, Mapping) and ("policy" in spec) != ("design" in spec)
    require(whole, label, "have a policy or a design", spec, ScenarioError)
    assert isinstance(spec, Mapping)
    if "policy" in spec:
        rule = "be given for a design with a policy"
        require(model is not None, "model", rule, None, ScenarioError)
        policy = Policy.from_dict(spec)
        limited = policy if isinstance(policy, Limited) else None
        return Design(
            rule=policy,
            model=model,
            cohort=1 if limited is None else limited.cohort,
            start=0 if limited is None else (limited.start or limited.low),
            stop=stop,
            **common,
        )
    options = dict(spec)
    kind = require_known(label, options.pop("design"), sorted(_DESIGNS), ScenarioError)
    build = _DESIGNS[kind]
    with within(label, spec):
        known = inspect.signature(build).parameters
        for key in options:
            require_known(f"a parameter of {kind}", key, sorted(known), ScenarioError)
        for key, parameter in known.items():
            given = key in options or key in common or parameter.default is not parameter.empty
            require(given, kind, f"have {key}", sorted(options), ScenarioError)
        if isinstance(build, type):
            return Design(rule=build(**options), **common)
        if stop is not None and "stop" in known:
            # A design of the catalogue has a prior of its own.
            options["stop"] = dataclasses.replace(stop, prior=None)
        found: Design = build(**{**common, **options})
        return found


def _parse_model(content: object, target: float) -> AnyModel:
    rule = "have family and arms"
    whole = isinstance(content, Mapping) and {"family", "arms"} <= content.keys()
    require(whole, "model", rule, content, ScenarioError)
    assert isinstance(content, Mapping)
    options = {"target": target} | dict(content)
    with within("model", content):
        return build_family(options.pop("family"), options.pop("arms"), options)


def _parse_doses(content: object, n_doses: int) -> tuple[str, ...]:
    if content is None:
        return tuple(f"dose {number}" for number in range(1, n_doses + 1))
    valid = isinstance(content, list) and len({str(label) for label in content}) == n_doses
    require(valid, "doses", f"be {n_doses} different labels", content, ScenarioError)
    assert isinstance(content, list)
    return tuple(str(label) for label in content)


def play_trial(
    trial: Trial,
    *,
    runs: int | None = None,
    seed: int = 0,
    tick: Callable[[str], None] | None = None,
) -> Played:
    """Simulate all designs on all scenarios.

    Args:
        trial: from `load_trial`.
        runs: trials of each scenario, instead of the number in the file.
        seed: seed of all randomness.
        tick: called with the name of each scenario before its simulation.
    """
    results = {}
    for name, rates in trial.scenarios.items():
        if tick is not None:
            tick(name)
        results[name] = {
            label: design.simulate(rates, runs=runs or trial.runs, seed=seed)
            for label, design in trial.designs.items()
        }
    return Played(trial=trial, results=results)
