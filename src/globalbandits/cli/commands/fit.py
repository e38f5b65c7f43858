"""``globalbandits fit``: learn a model from a file of history, with a verdict and a page."""

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalbandits.cli.arguments import parse_arms, parse_domain
from globalbandits.errors import FitError

if TYPE_CHECKING:
    from globalbandits.fitting import Fit


def fit(
    history: Annotated[
        Path,
        typer.Argument(help="CSV or Parquet file with one row per decision.", show_default=False),
    ],
    group: Annotated[
        str,
        typer.Option(help="Column that tells groups apart: stores, patients.", show_default=False),
    ],
    arm: Annotated[
        str, typer.Option(help="Column of what was decided: a price, a dose.", show_default=False)
    ],
    reward: Annotated[
        str, typer.Option(help="Column of what was observed: sold or not.", show_default=False)
    ],
    trials: Annotated[
        str | None,
        typer.Option(help="Column of the number of trials, such as visitors; reward counts sales."),
    ] = None,
    cost: Annotated[
        float | None, typer.Option(help="What a sold unit costs: profit decides.")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(help="What a decision is worth instead, a formula of mean and arm."),
    ] = None,
    reward_range: Annotated[
        str | None,
        typer.Option(
            "--range",
            help="low:high of a reward, or low: if there is no highest; needed unless rewards are "
            "0 or 1, or counts.",
        ),
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(
            help="'labels' if the arms' numbers mean nothing; or the arms to offer, "
            "first:last:step or a list with commas."
        ),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column of times: the last third is a test, too.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Column of strata, such as promotions; may be repeated."),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(help="Column of contexts, such as segments: a model with contexts."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave this group out; may be repeated.")
    ] = None,
    dropna: Annotated[
        bool, typer.Option("--dropna", help="Leave rows without a reward out.")
    ] = False,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="How long a new group will be played, in rows of the history; by default the end "
            "is open."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(help="New groups that are simulated.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="No standard errors and no simulation.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the model into this .json file, and the policy next to it."),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write all of it as this .html page.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw curves, groups and regret (.svg, .png, .pdf).")
    ] = None,
    currency: Annotated[str, typer.Option(help="Unit of worth on the page, such as €.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Learn curves from other groups' history, and show their worth in a new group.

    Prints the verdict with its reasons. Use the model file with analyze --file, gb.load_model and
    gb.Learner. With --json the policy to deploy is under "policy".

    [bold]Examples[/bold]

      globalbandits fit history.csv --group store --arm price --reward sold --cost 3.10

      globalbandits fit history.csv --group store --arm price --reward sold --out model.json
      --page fit.html

      globalbandits fit weeks.csv --group store --arm price --reward sold --trials visitors
      --by promotion --cost 3.10 --horizon 52 --currency € --page fit.html

      globalbandits fit panel.parquet --group line --arm dose --reward response --range 0:1 --json
    """
    from rich.console import Console

    from globalbandits._validation import require
    from globalbandits.fitting import fit as fit_history
    from globalbandits.fitting.report import check_page_path
    from globalbandits.model.description import check_model_path
    from globalbandits.plots import check_figure_path

    # Paths that cannot be written raise an error before the work starts.
    for path, check in (
        (out, check_model_path),
        (page, check_page_path),
        (plot, check_figure_path),
    ):
        if path is not None:
            check(path)
    if context is not None:
        for name, figure in (("page", page), ("plot", plot)):
            require(figure is None, name, "be left out with context", figure, FitError)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes contain the same text
        fit_rows: Any = fit_history  # whose result depends on the arguments
        found = fit_rows(
            history,
            group=group,
            arm=arm,
            reward=reward,
            trials=trials,
            cost=cost,
            value=value,
            reward_range=_parse_range(reward_range),
            arms=arms if arms is None or arms == "labels" else _offered(arms),
            time=time,
            by=by or None,
            context=context,
            exclude=exclude or [],
            dropna=dropna,
            verdict=not quick,
            horizon=horizon,
            runs=runs,
            seed=seed,
            progress=_is_watched(),
        )
    # Files come first: printing ends the program if the reader has closed the pipe.
    written = _write(found, out, page, plot, currency)
    if json:
        print(_as_json(found))
    else:
        width = max(60, min(Console().width, 110))
        print(found.describe() if context is not None else found.describe(width))
    for what, path in written.items():
        typer.echo(f"{what}: {path}", err=True)


def _parse_range(text: str | None) -> tuple[float, float | None] | None:
    """The range of rewards; ``0:`` has no highest value."""
    if text is None:
        return None
    if text.strip().endswith(":"):
        return parse_domain(f"{text.strip()}inf", "range")[0], None
    return parse_domain(text, "range")


def _offered(text: str) -> list[Any]:
    """The arms to offer: the numbers of a range, or names as they are written in a file."""
    return parse_arms(text) if ":" in text else [part.strip() for part in text.split(",")]


def _is_watched() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _as_json(found: "Fit") -> str:
    from globalbandits.cli.output import as_json

    return as_json(found.to_dict()).rstrip("\n")


def _write(
    found: "Fit", out: Path | None, page: Path | None, plot: Path | None, currency: str
) -> dict[str, Path]:
    """Write the requested files and return them. An interrupted write leaves no partial file."""
    from globalbandits._files import replacing
    from globalbandits.cli.output import as_json

    written: dict[str, Path] = {}
    if out is not None:
        found.save(out)
        written["model"] = out
        policy = out.with_suffix(".policy.json")
        with replacing(policy) as temporary:
            temporary.write_text(as_json(found.policy.to_dict()), encoding="utf-8")
        written["policy"] = policy
    if page is not None:
        written["page"] = found.report(page, currency=currency)
    if plot is not None:
        from globalbandits.plots import save_figure

        written["figure"] = save_figure(found.plot(), plot)
    return written
