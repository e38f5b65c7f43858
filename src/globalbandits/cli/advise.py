"""``globalbandits advise``: what a log of decisions says, and which arm to take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalbandits.errors import EvidenceError

if TYPE_CHECKING:
    from globalbandits.evidence import Evidence


def advise(
    log: Annotated[Path, typer.Argument(help="CSV file with a row for every decision.")],
    file: Annotated[
        str, typer.Option(help="The model: a file, .json or .toml; or path.py:name.")
    ] = "model.json",
    arm: Annotated[str, typer.Option(help="Column of what was played, such as price.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column of what was observed.")] = "reward",
    baseline: Annotated[
        str | None, typer.Option(help="The arm in use before, to compare earnings with.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of all bounds, at all times.")] = 0.95,
    plot: Annotated[
        Path | None, typer.Option(help="Draw worth over arms into this .svg, .png or .pdf file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
) -> None:
    """Say which arm to take, how sure that is, and what was earned, from a log of decisions.

    [bold]Examples[/bold]

      globalbandits advise sales.csv --file model.json --arm price --reward sold

      globalbandits advise sales.csv --arm price --reward sold --baseline 4.99 --plot profit.svg
    """
    import json as encoding

    from globalbandits.cli.models import file_model
    from globalbandits.evidence import evidence_from_log
    from globalbandits.plots import check_figure_path, save_figure

    if plot is not None:
        check_figure_path(plot)
    model = file_model(file)
    arms, rewards = _read(log, arm, reward)
    evidence = evidence_from_log(model, rewards=rewards, arm_values=arms)
    today = None if baseline is None else _index(baseline, model.arms)
    said = _advice(evidence, today, confidence)
    if json:
        print(encoding.dumps(said, indent=2, default=str))
    else:
        print("\n".join(str(line) for line in said.values()))
    if plot is not None:
        figure = evidence.plot_worth(confidence, baseline=today)
        typer.echo(f"figure: {save_figure(figure, plot)}", err=True)


def _advice(evidence: "Evidence", baseline: int | None, confidence: float) -> dict[str, Any]:
    """What is said, in order; the answer first."""
    model, against = evidence.model, evidence.against_model()
    if against.refuted(1.0 - confidence):
        answer = "The rewards refute the model: do not follow its curves."
    else:
        worth = model.worth(against.theta)
        best = int(worth.argmax())
        answer = f"Take {model.arms[best]}: worth {worth[best]:.4g} a decision, by the curves."
    said = {
        "advice": answer,
        "theta": str(evidence.interval(confidence)),
        "contenders": str(evidence.contenders(confidence)),
        "model": str(against),
        "drift": str(evidence.drift(1.0 - confidence)),
    }
    if baseline is not None:
        said["earnings"] = str(evidence.earnings(baseline, confidence))
    return said


def _read(path: Path, arm: str, reward: str) -> tuple[list[Any], list[float]]:
    import pandas as pd

    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise EvidenceError(f"log must be a readable CSV file, got {path}: {error}") from None
    for column in (arm, reward):
        if column not in frame.columns:
            shown = ", ".join(map(str, frame.columns))
            raise EvidenceError(f"log must have a column {column!r}, has: {shown}")
    if frame.empty:
        raise EvidenceError(f"log must have a row for every decision, got none in {path}")
    numbers = pd.to_numeric(frame[reward], errors="coerce")
    if numbers.isna().any():
        row = int(numbers.isna().to_numpy().argmax())
        found = frame[reward].iloc[row]
        raise EvidenceError(f"{reward} must be a number, row {row + 1} has {found!r}")
    return frame[arm].tolist(), numbers.astype(float).tolist()


def _index(text: str, arms: tuple[Any, ...]) -> int:
    """The arm that a text names: one written so, or the number."""
    from globalbandits._rewards import index_of

    for index, value in enumerate(arms):
        if str(value) == text:
            return index
    try:
        return index_of(float(text), arms)
    except ValueError:
        shown = ", ".join(map(str, arms[:8])) + (", ..." if len(arms) > 8 else "")
        raise EvidenceError(f"baseline must be one of the arms {shown}, got {text!r}") from None
