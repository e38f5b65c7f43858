"""``globalbandits trial``: recommendations of trial designs on scenarios of true rates."""

from pathlib import Path
from typing import Annotated

import typer


def trial(
    file: Annotated[
        Path | None, typer.Argument(help="TOML file of the trial; an example without one.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Trials of each scenario instead of the file's number.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the recommendations to this file (.png, .svg, .pdf).")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write the appendix of a protocol to this file (.html)."),
    ] = None,
    show: Annotated[bool, typer.Option(help="Print the example's file and stop.")] = False,
) -> None:
    """Simulate the designs of a trial on scenarios of true rates, and show their recommendations.

    The file contains the model of the designs, the designs (any policies), the scenarios and an
    optional stopping rule.

    [bold]Examples[/bold]

      globalbandits trial

      globalbandits trial --show > mine.toml

      globalbandits trial mine.toml --runs 2000 --plot selection.png

      globalbandits trial mine.toml --report protocol.html
    """
    from rich.console import Console

    from globalbandits._validation import as_integer, as_seed, require
    from globalbandits.errors import ScenarioError
    from globalbandits.lab.report.trial_tables import draw_trial, print_trial
    from globalbandits.lab.trials import example_text, load_trial, play_trial
    from globalbandits.pages import literal
    from globalbandits.plots.style import check_figure_path
    from globalbandits.simulation.checkpoints import MAX_RUNS

    if show:
        print(example_text(), end="")
        return
    if runs is not None:
        as_integer("runs", runs, 1, ScenarioError, maximum=MAX_RUNS)
    as_seed(seed, ScenarioError)
    if plot is not None:
        check_figure_path(plot)
    chosen = load_trial(file)
    console = Console()
    if report is not None:
        from globalbandits.lab.report.protocol_report import write_protocol

        is_page = report.suffix == ".html"
        require(is_page, "report", "be a file named *.html", str(report), ScenarioError)
        with Console(stderr=True).status("simulating"):
            written = write_protocol(chosen, report, runs=runs, seed=seed)
        console.print(f"The report: {written}", markup=False, soft_wrap=True)
        if plot is None:
            return
    with Console(stderr=True).status("playing") as status:
        played = play_trial(
            chosen,
            runs=runs,
            seed=seed,
            tick=lambda name: status.update(literal(f"playing {name}")),
        )
    print_trial(played, console)
    for remark in chosen.remarks:
        console.print(f"note: {remark}", markup=False, soft_wrap=True)
    if plot is not None:
        console.print(f"The figure: {draw_trial(played, plot)}", markup=False, soft_wrap=True)
