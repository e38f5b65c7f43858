"""``globalbandits reproduce``: the paper's experiments, compared with its numbers."""

import shlex
import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    experiment: Annotated[
        list[int] | None,
        typer.Option(help="Only this experiment (1 to 4); give it again for more."),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs of each simulation; 1,000 if not given.")
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="Rounds of a run; the paper's if not given, and only those get verdicts."
        ),
    ] = None,
    trust: Annotated[
        bool | None,
        typer.Option(
            "--trust/--no-trust",
            help='The section "Can you trust it?"; if not given, only with all experiments.',
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for page, figures and numbers.")] = Path(
        "results"
    ),
    open_page: Annotated[bool, typer.Option("--open", help="Open the page when done.")] = False,
) -> None:
    """Simulate the paper's four experiments and compare the results with its numbers.

    The section "Can you trust it?" shows the error rates of intervals and alarms in these worlds.

    Writes results.json, the figures (SVG and PNG) and report.html, a page that needs no network.

    [bold]Examples[/bold]

      globalbandits reproduce

      globalbandits reproduce --experiment 1 --runs 200 --open

      globalbandits reproduce --experiment 2 --experiment 4
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from globalbandits._validation import as_folder
    from globalbandits.errors import ScenarioError
    from globalbandits.lab.paper import (
        EXPERIMENTS,
        check_request,
        run_experiment,
        run_trust,
        runs_to_do,
    )
    from globalbandits.lab.report import print_outcomes, write_report

    started = time.perf_counter()
    # Invalid arguments raise an error before any simulation.
    check_request(experiment or [], runs, horizon, seed)
    as_folder("out", out, ScenarioError)
    numbers = sorted(set(experiment or EXPERIMENTS))
    with_trust = not experiment if trust is None else trust
    console = Console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeElapsedColumn(),
    )
    outcomes = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        total = runs_to_do(numbers, runs, trust=with_trust)
        task = progress.add_task("simulating", total=total)

        def tick(done: int) -> None:
            progress.advance(task, done)

        for number in numbers:
            progress.update(task, description=f"experiment {number}")
            outcomes.append(
                run_experiment(number, runs=runs, horizon=horizon, seed=seed, tick=tick)
            )
        if with_trust:
            progress.update(task, description="can you trust it?")
            outcomes.append(run_trust(runs=runs, horizon=horizon, seed=seed, tick=tick))
        progress.update(task, description="figures and page")
        page = write_report(
            outcomes,
            out,
            command=_command(numbers if experiment else [], runs, horizon, trust, seed),
            seed=seed,
            started=started,
        )
    print_outcomes(outcomes, console)
    console.print(f"\n{page}", markup=False, soft_wrap=True)
    if open_page:
        webbrowser.open(page.resolve().as_uri())


def _command(
    numbers: list[int],
    runs: int | None,
    horizon: int | None,
    trust: bool | None,
    seed: int,
) -> str:
    """Return the command that gives the same numbers.

    >>> _command([1], 200, None, True, 7)
    'globalbandits reproduce --experiment 1 --runs 200 --trust --seed 7'
    """
    words = ["globalbandits", "reproduce"]
    for number in numbers:
        words += ["--experiment", str(number)]
    for name, value in {"--runs": runs, "--horizon": horizon}.items():
        if value is not None:
            words += [name, str(value)]
    if trust is not None:
        words.append("--trust" if trust else "--no-trust")
    return shlex.join([*words, "--seed", str(seed)])
