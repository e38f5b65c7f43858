"""The appendix of a protocol: designs, operating characteristics and pathways on one page."""

import json
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._files import replacing
from globalbandits.lab.trials import Trial
from globalbandits.pages import definitions, fill_page, table
from globalbandits.policies.wrappers.limited import Limited
from globalbandits.simulation.provenance import made_with
from globalbandits.trial import BOIN, Design, ThreePlusThree, sensitivity

if TYPE_CHECKING:
    import pandas as pd

_PATHWAY_COHORTS = 3


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
    designs = designs_of(trial)
    first, *others = designs.values()
    comparators = dict(zip(list(designs)[1:], others, strict=True))
    comparators["BOIN"] = _comparator(trial, BOIN())
    comparators["3+3"] = _comparator(trial, ThreePlusThree())
    scenarios = {name: world.true_means().tolist() for name, world in trial.worlds.items()}
    options: dict[str, Any] = {"runs": n_runs, "seed": seed, "comparators": comparators}
    names = {"design": next(iter(designs))}
    summary = first.summary(scenarios, **options).rename(index=names)
    details = first.characteristics(scenarios, **options).rename(index=names)
    about = {
        "patients": str(trial.decisions),
        "stopping rule": "none" if trial.stop is None else json.dumps(trial.stop.to_dict()),
        "trials of each scenario": f"{n_runs:,}",
        "seed": str(seed),
    } | made_with()
    page = fill_page(
        __package__,
        "protocol_report.html",
        title="Operating characteristics of a dose-finding trial",
        target=f"{trial.target:.0%}",
        about=definitions(about),
        remarks="".join(f"<p>Note: {escape(text)}</p>" for text in trial.remarks),
        doses=_doses_table(trial),
        designs=_design_list(designs),
        error=f"{50.0 / np.sqrt(n_runs):.2f}",
        summary=_summary_table(summary),
        scenarios="\n".join(_scenario(name, _part(details, name)) for name in scenarios),
        pathways="\n".join(
            f"<h3>{escape(name)}</h3>{_frame(design.pathways(_PATHWAY_COHORTS))}"
            for name, design in designs.items()
        ),
    )
    target = Path(path)
    with replacing(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def designs_of(trial: Trial) -> dict[str, Design]:
    """Return the designs of a trial's file by name."""
    return {
        name: Design(
            doses=trial.doses,
            target=trial.target,
            rule=policy,
            model=trial.model,
            patients=trial.decisions,
            cohort=policy.cohort if isinstance(policy, Limited) else 1,
            start=(policy.start or policy.low) if isinstance(policy, Limited) else 0,
            stop=trial.stop,
        )
        for name, policy in trial.designs.items()
    }


def _comparator(trial: Trial, rule: BOIN | ThreePlusThree) -> Design:
    return Design(
        doses=trial.doses, target=trial.target, rule=rule, patients=trial.decisions, cohort=3
    )


def _doses_table(trial: Trial) -> str:
    """Return the first guesses and the sensitivity; only labels for other models."""
    found = sensitivity(trial.model)
    rows = []
    for label, arm in zip(trial.doses, trial.model.arms, strict=True):
        known = found.loc[arm] if arm in found.index else None
        edges = [_number(known[name]) if known is not None else "" for name in ("below", "above")]
        rows.append([label, f"{arm:g}" if isinstance(arm, float) else str(arm), *edges])
    return table(["dose", "guess or amount in the model", "below", "above"], rows)


def _design_list(designs: Mapping[str, Design]) -> str:
    shown = {}
    for name, design in designs.items():
        rule = design.rule
        shown[name] = json.dumps(rule.to_dict()) if hasattr(rule, "to_dict") else repr(rule)
    return f'<dl class="about">{definitions(shown)}</dl>'


def _summary_table(summary: "pd.DataFrame") -> str:
    head = ["scenario", "design", "correct, %", "above, %", "overdosed, %", "DLTs", "none, %"]
    rows = []
    for index, row in summary.iterrows():
        assert isinstance(index, tuple)
        shares = [f"{100 * row[name]:.1f}" for name in ("correct", "above", "overdosed")]
        percentiles = "/".join(f"{row[f'patients_{share}']:.0f}" for share in (10, 50, 90))
        rest = [f"{row['events']:.1f}", f"{100 * row['none']:.1f}"]
        rows.append([*index, *shares, *rest, f"{row['patients']:.1f} ({percentiles})"])
    return table([*head, "patients"], rows)


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
        rows.append([f"{design}: DLTs", *(f"{x:.1f}" for x in one["events"])])
    return f"<h3>{escape(name)}</h3>{table(['dose', *doses], rows)}"


def _part(details: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """Return the rows of one name on the first level."""
    return details.xs(name, level=0)  # type: ignore[return-value]


def _frame(frame: "pd.DataFrame") -> str:
    head = [str(name).replace("_", " ").replace("events", "DLTs") for name in frame.columns]
    rows = [["" if str(x) == "<NA>" else str(x) for x in row] for row in frame.to_numpy().tolist()]
    return table(head, rows)


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"
