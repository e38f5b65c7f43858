"""The appendix of a protocol: designs, operating characteristics and pathways on one page."""

import dataclasses
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._files import replacing
from globalbandits._version import __version__
from globalbandits.errors import ModelError
from globalbandits.lab.trials import Trial
from globalbandits.model import RewardModel
from globalbandits.pages import definitions, fill_page, table
from globalbandits.plots.style import svg_bytes
from globalbandits.policies import StopWhen
from globalbandits.policies.structured.cohort_design import EscalationRule
from globalbandits.policies.structured.dose_escalation import DoseEscalation
from globalbandits.policies.wrappers.limited import Limited
from globalbandits.simulation.provenance import made_with
from globalbandits.trial import BOIN, TITE, Design, ThreePlusThree, sensitivity

if TYPE_CHECKING:
    import pandas as pd

_PATHWAY_COHORTS = 3
_TREE_COHORTS = 2
_END = "ended: "


def write_protocol(
    trial: Trial, path: "str | os.PathLike[str]", *, runs: int | None = None, seed: int = 0
) -> Path:
    """Simulate the designs of a trial, write the page, and return its path.

    BOIN and the 3+3 design are simulated as comparators.

    Args:
        trial: from `load_trial`.
        path: the HTML file.
        runs: trials of each scenario, instead of the number in the file.
        seed: seed of all randomness.
    """
    n_runs = runs or trial.runs
    designs = dict(trial.designs)
    rules = [type(design.rule) for design in designs.values()]
    for label, rule in (("BOIN", BOIN()), ("3+3", ThreePlusThree())):
        if type(rule) not in rules:
            designs[label] = Design(
                doses=trial.doses, target=trial.target, rule=rule, patients=trial.patients
            )
    name, first = next(iter(designs.items()))
    options: dict[str, Any] = {
        "runs": n_runs,
        "seed": seed,
        "comparators": {label: design for label, design in designs.items() if label != name},
    }
    summary = first.summary(trial.scenarios, **options).rename(index={"design": name})
    details = first.characteristics(trial.scenarios, **options).rename(index={"design": name})
    bounds = {}
    for scenario, rates in trial.scenarios.items():
        best, above = first.best_dose(first.as_rates(rates))
        if above > 0:
            bounds[scenario] = float(_part(_part(details, scenario), name)["benchmark"].iloc[best])
    about = {
        "globalbandits": __version__,
        "patients": str(trial.patients),
        "trials of each scenario": f"{n_runs:,}",
        "seed": str(seed),
    } | made_with()
    followed = {
        label: design
        for label, design in trial.designs.items()
        if not isinstance(design.rule, TITE)
    }
    page = fill_page(
        __package__,
        "protocol_report.html",
        title="Operating characteristics of a dose-finding trial",
        target=f"{trial.target:.0%}",
        about=definitions(about),
        remarks="".join(f"<p>Note: {escape(text)}</p>" for text in trial.remarks),
        doses=_doses_tables(designs),
        designs=_design_list(designs),
        error=f"{50.0 / np.sqrt(n_runs):.2f}",
        summary=_summary_table(summary, bounds),
        ends=_ends_table(summary),
        scenarios="\n".join(_scenario(each, _part(details, each)) for each in trial.scenarios),
        decisions=_decisions(followed),
        pathways="\n".join(_pathways(label, each) for label, each in followed.items()),
    )
    target = Path(path)
    with replacing(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def _doses_tables(designs: Mapping[str, Design]) -> str:
    """Return the first guesses and the sensitivity of designs with one unknown number."""
    parts = []
    for name, design in designs.items():
        model = design.model
        if not isinstance(model, RewardModel) or model.target is None:
            continue
        found = sensitivity(model)
        rows = []
        guesses = model.means(0.5 * sum(model.domain))
        if model.domain[0] < 0.0 < model.domain[1]:
            guesses = model.means(0.0)
        for label, arm, guess in zip(design.doses, model.arms, guesses.tolist(), strict=True):
            known = found.loc[arm] if arm in found.index else None
            edges = [_number(known[end]) if known is not None else "" for end in ("below", "above")]
            rows.append([label, f"{guess:.3g}", *edges])
        head = ["dose", "first guess", "below", "above"]
        parts.append(f"<h3>{escape(name)}</h3>{table(head, rows)}")
    return "".join(parts)


def _decisions(designs: Mapping[str, Design]) -> str:
    """Return the dose of the second cohort, for every number of DLTs in the first one."""
    tables = {name: design.decision_table() for name, design in designs.items()}
    most = max((len(each) for each in tables.values()), default=0)
    rows = [
        [str(events), *(_next_dose(each, events) for each in tables.values())]
        for events in range(most)
    ]
    return table(["DLTs in the first cohort", *tables], rows)


def _next_dose(decisions: "pd.DataFrame", events: int) -> str:
    return str(decisions.loc[events, "next"]) if events < len(decisions) else ""


def _pathways(name: str, design: Design) -> str:
    """Return the tree of two cohorts, and the table of three."""
    tree = svg_bytes(design.plot_pathways(_TREE_COHORTS, title=name)).decode("utf-8")
    picture = tree[tree.index("<svg") :]
    text = f"Tree of the dose-transition pathways of {name}; the table below has the same doses"
    return (
        f"<h3>{escape(name)}</h3>"
        f'<figure role="img" aria-label="{escape(text)}">{picture}</figure>'
        f"{_frame(design.pathways(_PATHWAY_COHORTS))}"
    )


def _design_list(designs: Mapping[str, Design]) -> str:
    """Return the parts of every design in words."""
    return "".join(
        f'<h3>{escape(name)}</h3><dl class="about">{definitions(_described(design))}</dl>'
        for name, design in designs.items()
    )


_MARGINALS = {
    "normal": "normal, mean {0:g}, standard deviation {1:.4g}",
    "lognormal": "its logarithm is normal, mean {0:g}, standard deviation {1:.4g}",
    "exponential": "exponential, mean {0:g}",
    "log_exponential": "its exponential is exponential, mean {0:g}",
}
_RULES = {
    "plug_in": "the dose whose rate at the posterior mean of theta is nearest to the target",
    "mean": "the dose whose posterior mean rate is nearest to the target",
    "interval": "the dose whose rate is most likely in the target interval",
}


def _described(design: Design) -> dict[str, str]:
    rule, doses = design.rule, design.doses
    found = {
        "patients": f"at most {design.patients}, {_cohorts(design.cohort)}",
        "first dose": doses[design.start],
    }
    inner: Any = rule.escalation if isinstance(rule, TITE) else getattr(rule, "inner", rule)
    if isinstance(inner, DoseEscalation):
        found |= _described_model(design, inner)
    elif isinstance(inner, EscalationRule):
        values = dataclasses.asdict(inner)  # type: ignore[call-overload]
        shown = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in values.items())
        found["rule"] = f"{type(inner).__name__}, {shown}" if shown else "3+3"
        if isinstance(inner, BOIN):
            low, high = inner.boundaries(design.target)
            found["boundaries"] = f"raised at or below {low:.3f}, lowered at or above {high:.3f}"
    else:
        found["rule"] = inner.label
        found["model"] = _shown_model(design)
    if isinstance(design.policy, Limited):
        found["steps"] = _described_steps(design.policy)
    if isinstance(rule, TITE):
        found["follow-up"] = f"{rule.window:g}, a patient every {rule.every:g} ({rule.arrivals})"
        found["weights"] = rule.weights
    if design.stop is not None:
        found["stops"] = _described_stop(design.stop)
    return found


def _cohorts(size: int) -> str:
    return "one after the other" if size == 1 else f"in cohorts of {size}"


def _shown_model(design: Design) -> str:
    assert design.model is not None
    try:
        spec = design.model.to_dict()
    except ModelError:  # its mean is a Python function
        return repr(design.model)
    if "means" in spec:
        rates = zip(design.doses, spec["means"], strict=True)
        return "rate of DLTs: " + ", ".join(f"{label} {formula}" for label, formula in rates)
    if spec.get("family") == "dose.power":
        guesses = zip(design.doses, design.model.arms, strict=True)
        shown = ", ".join(f"{label} {guess:g}**exp(theta)" for label, guess in guesses)
        return f"rate of DLTs: {shown}"
    if "reference" in spec:  # a BLRM
        return f"log-odds of a DLT: intercept + slope * log(amount / {spec['reference']:g})"
    return repr(design.model)


def _described_model(design: Design, inner: DoseEscalation) -> dict[str, str]:
    found = {"model": _shown_model(design)}
    names = list(getattr(design.model, "parameters", ["theta"]))
    found["prior"] = (
        "uniform"
        if inner.prior is None
        else "; ".join(
            f"{name}: {_MARGINALS[kind].format(*numbers)}"
            for name, (kind, *numbers) in zip(names, inner.prior, strict=True)
        )
    )
    if inner.correlation:
        found["prior"] += f"; correlation {inner.correlation:g}"
    found["dose"] = _RULES[inner.rule]
    if inner.interval is not None:
        found["dose"] += f", {inner.interval[0]:g} to {inner.interval[1]:g}"
    if inner.overdose is not None:
        limit, risk = inner.overdose
        found["overdose control"] = f"a dose is given if P(rate > {limit:g}) < {risk:g}"
    return found


def _described_steps(limits: Limited) -> str:
    up, down = limits.largest_step_up, limits.largest_step_down
    parts = [
        "up any number of doses" if up is None else f"up at most {up}",
        "down any number" if down is None else f"down at most {down}",
    ]
    if limits.coherent:
        after = "a cohort whose rate of DLTs is at or above the target"
        after = "the report of a DLT" if limits.wait_for == 0 else after
        parts.append(f"none up straight after {after}")
    if limits.elimination is not None:
        parts.append(f"doses with P(rate > target) > {limits.elimination:g} are eliminated")
    return "; ".join(parts)


def _described_stop(stop: StopWhen) -> str:
    parts = []
    if stop.above is not None:
        kind = "posterior probability" if stop.by == "posterior" else "anytime confidence"
        parts.append(f"lowest dose above {stop.above:g} with a {kind} of {stop.confidence:g}")
    if stop.one_contender:
        parts.append(f"one dose is the best at confidence {stop.confidence:g}")
    for value, text in (
        (stop.at_recommended, "{} patients at the next dose"),
        (stop.at_any, "{} patients at one dose"),
        (stop.precision, "an interval of the next dose's rate of at most {}"),
        (stop.decisions, "{} patients"),
    ):
        if value is not None:
            parts.append(text.format(value))
    return "; ".join(parts) + f"; from {stop.after} outcomes on"


def _summary_table(summary: "pd.DataFrame", bounds: Mapping[str, float]) -> str:
    """Return one row per scenario and design, and the benchmark's share of correct doses."""
    head = ["scenario", "design", "correct, %", "above, %", "overdosed, %", "DLTs", "none, %"]
    rows: list[list[str]] = []
    for index, row in summary.iterrows():
        assert isinstance(index, tuple)
        scenario, design = map(str, index)
        if scenario in bounds and scenario not in {each[0] for each in rows}:
            rows.append([scenario, "benchmark", f"{100 * bounds[scenario]:.1f}", *[""] * 5])
        shares = [f"{100 * row[name]:.1f}" for name in ("correct", "above", "overdosed")]
        percentiles = "/".join(f"{row[f'patients_{share}']:.0f}" for share in (10, 50, 90))
        rest = [f"{row['DLTs']:.1f}", f"{100 * row['none']:.1f}"]
        patients = f"{row['patients']:.1f} ({percentiles})"
        rows.append([scenario, design, *shares, *rest, patients])
    return table([*head, "patients"], rows)


def _ends_table(summary: "pd.DataFrame") -> str:
    """Return why trials ended."""
    columns = [name for name in map(str, summary.columns) if name.startswith(_END)]
    rows = []
    for index, row in summary.iterrows():
        assert isinstance(index, tuple)
        rows.append([*map(str, index), *(f"{100 * row[name]:.1f}" for name in columns)])
    return table(["scenario", "design", *(name.removeprefix(_END) for name in columns)], rows)


def _scenario(name: str, details: "pd.DataFrame") -> str:
    """Return a scenario's selection, patients and DLTs by dose, and the benchmark."""
    designs = list(dict.fromkeys(details.index.get_level_values("design")))
    first = _part(details, designs[0])
    doses = [str(label) for label in first.index]
    rows = [["true rate", *(f"{rate:.2f}" for rate in first["rate"])]]
    rows.append(["benchmark: recommended, %", *(f"{100 * x:.1f}" for x in first["benchmark"])])
    for design in designs:
        one = _part(details, design)
        rows.append([f"{design}: recommended, %", *(f"{100 * x:.1f}" for x in one["selected"])])
        rows.append([f"{design}: patients", *(f"{x:.1f}" for x in one["treated"])])
        rows.append([f"{design}: overdosed", *(f"{x:.1f}" for x in one["overdosed"])])
        rows.append([f"{design}: DLTs", *(f"{x:.1f}" for x in one["DLTs"])])
    return f"<h3>{escape(name)}</h3>{table(['dose', *doses], rows)}"


def _part(details: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """Return the rows of one name on the first level."""
    return details.xs(name, level=0)  # type: ignore[return-value]


def _frame(frame: "pd.DataFrame") -> str:
    head = [str(name).replace("_", " ") for name in frame.columns]
    rows = [["" if str(x) == "<NA>" else str(x) for x in row] for row in frame.to_numpy().tolist()]
    return table(head, rows)


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"
