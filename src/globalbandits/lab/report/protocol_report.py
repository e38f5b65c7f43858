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
from globalbandits.model import RewardModel
from globalbandits.pages import definitions, fill_page, table
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
    about = {
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
        summary=_summary_table(summary),
        scenarios="\n".join(_scenario(each, _part(details, each)) for each in trial.scenarios),
        decisions="\n".join(_decisions(label, each) for label, each in followed.items()),
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
        for label, arm in zip(design.doses, model.arms, strict=True):
            known = found.loc[arm] if arm in found.index else None
            edges = [_number(known[end]) if known is not None else "" for end in ("below", "above")]
            rows.append([label, f"{arm:g}" if isinstance(arm, float) else str(arm), *edges])
        head = ["dose", "guess or amount in the model", "below", "above"]
        parts.append(f"<h3>{escape(name)}</h3>{table(head, rows)}")
    return "".join(parts)


def _decisions(name: str, design: Design) -> str:
    """Return the decisions after the first cohort, for every number of DLTs."""
    return f"<h3>{escape(name)}</h3>{_frame(design.decision_table().reset_index())}"


def _pathways(name: str, design: Design) -> str:
    """Return the tree of two cohorts, and the table of three."""
    from globalbandits.plots.style import svg_bytes

    tree = svg_bytes(design.plot_pathways(_TREE_COHORTS, title=name)).decode("utf-8")
    picture = tree[tree.index("<svg") :]
    text = f"Tree of the dose-transition pathways of {name}; the table below has the same doses"
    return (
        f"<h3>{escape(name)}</h3>"
        f'<figure role="img" aria-label="{escape(text)}">{picture}</figure>'
        f"{_frame(design.pathways(_PATHWAY_COHORTS))}"
    )


def _design_list(designs: Mapping[str, Design]) -> str:
    shown = {}
    for name, design in designs.items():
        rule = design.rule
        text = json.dumps(rule.to_dict()) if hasattr(rule, "to_dict") else repr(rule)
        if design.model is not None:
            text += f"; model {design.model!r}"
        if design.stop is not None:
            given = {
                key: value for key, value in design.stop.to_dict().items() if value is not None
            }
            text += f"; stops {json.dumps(given)}"
        shown[name] = text
    return f'<dl class="about">{definitions(shown)}</dl>'


def _summary_table(summary: "pd.DataFrame") -> str:
    head = ["scenario", "design", "correct, %", "above, %", "overdosed, %", "DLTs", "none, %"]
    rows = []
    for index, row in summary.iterrows():
        assert isinstance(index, tuple)
        shares = [f"{100 * row[name]:.1f}" for name in ("correct", "above", "overdosed")]
        percentiles = "/".join(f"{row[f'patients_{share}']:.0f}" for share in (10, 50, 90))
        rest = [f"{row['events']:.1f}", f"{100 * row['none']:.1f}"]
        ends = ", ".join(
            f"{str(column).removeprefix(_END)} {100 * row[column]:.1f}"
            for column in summary.columns
            if str(column).startswith(_END) and row[column] > 0.0
        )
        rows.append([*index, *shares, *rest, f"{row['patients']:.1f} ({percentiles})", ends])
    return table([*head, "patients", "ended, %"], rows)


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
