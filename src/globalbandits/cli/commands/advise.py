"""``globalbandits advise``: recommend an arm from a log of decisions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from globalbandits._version import __version__
from globalbandits.cli.arguments import file_model, without_contexts
from globalbandits.cli.log_files import arm_index, read_rows
from globalbandits.cli.output import as_json
from globalbandits.errors import EvidenceError

if TYPE_CHECKING:
    from globalbandits._types import FloatArray
    from globalbandits.evidence import Evidence
    from globalbandits.model import AnyModel


def advise(
    log: Annotated[
        Path,
        typer.Argument(
            help="CSV file with a row for every decision, or the service's export (.ndjson)."
        ),
    ],
    file: Annotated[
        str | None,
        typer.Option(
            help="The model: a file, .json or .toml; or path.py:name. "
            "By default model.json, or the model of the exported bandit."
        ),
    ] = None,
    arm: Annotated[str, typer.Option(help="Column of what was played, such as price.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column of what was observed.")] = "reward",
    baseline: Annotated[
        str | None, typer.Option(help="The arm in use before, to compare earnings with.")
    ] = None,
    bandit: Annotated[
        str | None, typer.Option(help="Which bandit of an export with several.")
    ] = None,
    currency: Annotated[str, typer.Option(help="Unit of worth in the figure, such as €.")] = "",
    title: Annotated[str, typer.Option(help="Title of the figure.")] = "",
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
      --currency €

      globalbandits advise export.ndjson --bandit shop --baseline 4.99
    """
    from globalbandits.evidence import evidence_from_log
    from globalbandits.evidence.statements import as_confidence
    from globalbandits.plots import check_figure_path, save_figure

    if plot is not None:
        check_figure_path(plot)
    confidence = as_confidence(confidence)
    if log.suffix.lower() in (".ndjson", ".jsonl"):
        exported = _read_export(log, bandit)
        model = without_contexts(exported.model if file is None else file_model(file))
        played, rewards = exported.arms, exported.rewards
        if file is not None:
            places = [str(value) for value in exported.model.arms]
            played = [arm_index("arm", places[each], model.arms) for each in played]
    else:
        model = without_contexts(file_model("model.json" if file is None else file))
        played, rewards = read_rows(log, arm, reward, model.arms)
    today = None if baseline is None else arm_index("baseline", baseline, model.arms)
    evidence = evidence_from_log(model, played, rewards)
    facts, statements = _advice(evidence, today, confidence)
    if json:
        print(as_json(facts | statements), end="")
    else:
        print("\n".join([facts["advice"], *map(str, statements.values())]))
    if plot is not None:
        figure = evidence.plot_worth(
            confidence, baseline=today, title=title, arm_name=arm, currency=currency
        )
        typer.echo(f"figure: {save_figure(figure, plot)}", err=True)


def _advice(
    evidence: "Evidence", baseline: int | None, confidence: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the advice with its numbers, and its statements in the order of printing."""
    from globalbandits.model import RewardModel
    from globalbandits.plots.labels import escape_controls
    from globalbandits.policies.learner.explanation import end_of_offer

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
    refuted = against.refuted(1.0 - confidence)
    best: int | None
    if refuted:
        worth, best, answer = _observed_advice(evidence, confidence)
    else:
        best = int(worth.argmax())
        taken = escape_controls(str(model.arms[best]))
        answer = f"Take {taken}: worth {worth[best]:.4g} a decision, by the curves."
        if moved is not None and moved.alarm:
            answer += " But theta has changed: repeat with the rows since then."
        if against.end:
            answer += (
                f" Theta lies at the {against.end} end of the domain: the curves may be wrong, "
                "widen the domain."
            )
    edge = "" if best is None else end_of_offer(model, best)
    if edge:
        answer += f" {edge[0].upper()}{edge[1:]}."
    facts = {
        "version": __version__,
        "advice": answer,
        "arm": None if best is None else model.arms[best],
        "worth": None if best is None else float(worth[best]),
        "refuted": refuted,
        "changed": moved is not None and moved.alarm,
        "remarks": list(model.remarks),
    }
    return facts, statements


def _observed_advice(
    evidence: "Evidence", confidence: float
) -> "tuple[FloatArray, int | None, str]":
    """Return the arms' observed worth, the best of them, and the advice after a refutation."""
    import numpy as np

    from globalbandits.plots.labels import escape_controls

    model, found = evidence.model, evidence.observed_worth()
    answer = "The rewards refute the model: do not follow its curves."
    names = [escape_controls(str(arm)) for arm in model.arms]
    untried = [name for name, value in zip(names, found, strict=True) if np.isnan(value)]
    if len(untried) == len(names):
        return found, None, answer
    best = int(np.nanargmax(found))
    low, high = evidence.observed_bounds(confidence)[best]
    answer += (
        f" By the rewards alone, take {names[best]}: worth {found[best]:.4g} a decision, between "
        f"{low:.4g} and {high:.4g}."
    )
    if untried:
        answer += f" Not tried: {', '.join(untried)}."
    return found, best, answer


class _Export(NamedTuple):
    """The decisions of one exported bandit that have a reward."""

    model: "AnyModel"
    arms: list[int]
    rewards: list[float]


def _read_export(path: Path, bandit: str | None) -> _Export:
    """Read the service's export, as an import would. Retracted rewards are left out."""
    from globalbandits._rewards import as_summary
    from globalbandits.service.log.archive.transfer import import_lines
    from globalbandits.service.log.load import kept_snapshot
    from globalbandits.service.log.settings import Settings
    from globalbandits.service.stores import SQLiteStore
    from globalbandits.service.stores.records import DECISION, RETRACTION

    store = SQLiteStore(":memory:")
    try:
        with path.open(encoding="utf-8") as lines:
            import_lines(store, lines)
        rows = store.bandits()
        chosen = [row for row in rows if bandit is None or row.name == bandit]
        if len(chosen) != 1:
            rule = "be one of the export's" if not chosen else "be given for several bandits"
            known = ", ".join(sorted(row.name for row in rows))
            raise EvidenceError(f"bandit must {rule}, {known}, got {bandit!r}")
        row = chosen[0]
        pruned = kept_snapshot(store, row)
        if pruned is not None and pruned.version > 0:
            raise EvidenceError(f"log must have all events, got a pruned bandit {row.name!r}")
        learned: dict[str, tuple[int, float, int]] = {}
        for event in store.events(row.id):
            if event.kind == RETRACTION:
                learned.pop(event.decision, None)
            elif event.kind != DECISION:
                learned[event.decision] = event.arm, event.value, event.n_rewards
        # The newest settings have the arms of all earlier ones.
        model, _ = Settings.from_log(store.settings(row.id)[-1].body).build()
    except (OSError, UnicodeDecodeError) as error:
        raise EvidenceError(f"log must be a readable export, got {path}: {error}") from None
    finally:
        store.close()
    if not learned:
        raise EvidenceError(f"log must have a reward, got none of {row.name!r} in {path}")
    arms, rewards = [], []
    low, high = model.reward_range
    for arm, value, count in learned.values():
        units = as_summary(value, count, (low, high)) if count > 1 else []
        several = [low + (high - low) * unit for unit in units] or [value]
        arms += [arm] * len(several)
        rewards += several
    return _Export(model, arms, rewards)
