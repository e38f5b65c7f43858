"""``globalbandits advise``: recommend an arm from a log of decisions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalbandits._version import __version__
from globalbandits.cli.arguments import file_model, parse_value
from globalbandits.cli.output import as_json
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
    """Recommend an arm from a log of decisions, with its certainty and the earnings so far.

    [bold]Examples[/bold]

      globalbandits advise sales.csv --file model.json --arm price --reward sold

      globalbandits advise sales.csv --arm price --reward sold --baseline 4.99 --plot profit.svg
    """
    from globalbandits.evidence import evidence_from_log
    from globalbandits.evidence.statements import as_confidence
    from globalbandits.plots import check_figure_path, save_figure

    if plot is not None:
        check_figure_path(plot)
    confidence = as_confidence(confidence)
    model = file_model(file)
    today = None if baseline is None else _index("baseline", baseline, model.arms)
    evidence = evidence_from_log(model, *_read(log, arm, reward, model.arms))
    facts, statements = _advice(evidence, today, confidence)
    if json:
        print(as_json(facts | statements), end="")
    else:
        print("\n".join([facts["advice"], *map(str, statements.values())]))
    if plot is not None:
        figure = evidence.plot_worth(confidence, baseline=today)
        typer.echo(f"figure: {save_figure(figure, plot)}", err=True)


def _advice(
    evidence: "Evidence", baseline: int | None, confidence: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the advice with its numbers, and its statements in the order of printing."""
    from globalbandits.model import RewardModel
    from globalbandits.plots.labels import escape_controls

    model, against = evidence.model, evidence.against_model()
    one = isinstance(model, RewardModel)
    moved = evidence.drift(1.0 - confidence) if one else None
    statements: dict[str, Any] = {
        **({"interval": evidence.interval(confidence)} if one else {}),
        **({} if one else {"region": evidence.region(confidence)}),
        "contenders": evidence.contenders(confidence),
        "model": against,
        **({"drift": moved} if one else {}),
    }
    if baseline is not None:
        statements["earnings"] = evidence.earnings(baseline, confidence)
    worth = model.worth(against.theta)
    best = int(worth.argmax())
    refuted = against.refuted(1.0 - confidence)
    if refuted:
        answer = "The rewards refute the model: do not follow its curves."
    else:
        taken = escape_controls(str(model.arms[best]))
        answer = f"Take {taken}: worth {worth[best]:.4g} a decision, by the curves."
        if moved is not None and moved.alarm:
            answer += " But theta has changed: repeat with the rows since then."
    facts = {
        "version": __version__,
        "advice": answer,
        "arm": None if refuted else model.arms[best],
        "worth": None if refuted else float(worth[best]),
        "refuted": refuted,
        "changed": moved is not None and moved.alarm,
    }
    return facts, statements


def _read(
    path: Path, arm: str, reward: str, arms: tuple[Any, ...]
) -> tuple[list[int], list[float]]:
    """Return the indices of arms and the rewards, row by row."""
    import pandas as pd

    from globalbandits.plots.labels import escape_controls

    try:
        header = [str(name) for name in pd.read_csv(path, nrows=0).columns]
        for column in (arm, reward):
            if column not in header:
                shown = escape_controls(", ".join(header))
                raise EvidenceError(f"log must have a column {column!r}, has: {shown}")
        frame = pd.read_csv(path, usecols=[arm, reward], dtype=str, keep_default_na=False)
    except EvidenceError:
        raise
    except (OSError, ValueError) as error:
        why = escape_controls(str(error).strip())
        raise EvidenceError(f"log must be a readable CSV file, got {path}: {why}") from None
    if frame.empty:
        raise EvidenceError(f"log must have a row for every decision, got none in {path}")
    numbers = pd.to_numeric(frame[reward], errors="coerce")
    if numbers.isna().any():
        row = int(numbers.isna().to_numpy().argmax())
        found = frame[reward].iloc[row]
        raise EvidenceError(f"{reward} in row {row + 1} must be a number, got {found!r}")
    codes, texts = pd.factorize(frame[arm])
    first = {code: row for row, code in reversed(list(enumerate(codes.tolist())))}
    known = [
        _index(f"{arm} in row {first[code] + 1}", text, arms) for code, text in enumerate(texts)
    ]
    return [known[code] for code in codes], numbers.astype(float).tolist()


def _index(name: str, text: str, arms: tuple[Any, ...]) -> int:
    """Return the index of the arm with this label or number."""
    from globalbandits._rewards import index_of

    written = [str(value) for value in arms]
    return written.index(text) if text in written else index_of(parse_value(text), arms, name)
