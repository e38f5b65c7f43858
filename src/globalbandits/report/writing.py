"""Results, figures and page on disk, each file written whole or not at all."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from globalbandits._files import replacing
from globalbandits._version import __version__
from globalbandits.experiments import Outcome
from globalbandits.plots import save_figure
from globalbandits.report.numbers import format_seconds
from globalbandits.report.page import write_page


def write_report(
    outcomes: Sequence[Outcome], folder: Path, *, command: str, seed: int, started: float
) -> Path:
    """Write ``results.json``, the figures and ``report.html``; the path of the page.

    Args:
        outcomes: the experiments.
        folder: where to write; made if it is missing.
        command: what was typed, to do it again.
        seed: of all randomness.
        started: when the work began, by `time.perf_counter`.
    """
    figures = write_figures(outcomes, folder)
    seconds = time.perf_counter() - started
    about = {"command": command, "seed": seed, "version": __version__, "seconds": seconds}
    write_results(outcomes, about, folder)
    lines = {
        "Command": command,
        "Seed": str(seed),
        "Version": f"globalbandits {__version__}",
        "Time taken": format_seconds(seconds),
    }
    return write_page(outcomes, figures, lines, folder)


def write_results(outcomes: Sequence[Outcome], about: Mapping[str, Any], folder: Path) -> Path:
    """``results.json``: one key an experiment, its entries by name, and how they were made."""
    content: dict[str, Any] = {"about": dict(about)}
    for outcome in outcomes:
        content[outcome.key] = {key: entry.to_dict() for key, entry in outcome.entries.items()}
    joint = {
        outcome.key: [joint.to_dict() for joint in outcome.joint]
        for outcome in outcomes
        if outcome.joint
    }
    if joint:
        content["about"]["joint"] = joint
    target = folder / "results.json"
    with replacing(target) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    return target


def write_figures(outcomes: Sequence[Outcome], folder: Path) -> dict[str, Path]:
    """Every chart as SVG and PNG in ``figures/``; the paths of the SVGs by chart name."""
    paths: dict[str, Path] = {}
    for outcome in outcomes:
        for chart in outcome.charts:
            figure = chart.draw()
            stem = folder / "figures" / f"{outcome.key}_{chart.name}"
            save_figure(figure, stem.with_suffix(".png"))
            paths[f"{outcome.key}_{chart.name}"] = save_figure(figure, stem.with_suffix(".svg"))
    return paths
