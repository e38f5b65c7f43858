"""The facts that ``analyze`` shows about a model, as values for JSON and as terminal tables."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from globalbandits._version import __version__
from globalbandits.model import AnyModel, RewardModel, VectorModel
from globalbandits.pages import text_table
from globalbandits.plots.labels import counted, printed_label

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

N_HARDEST = 5  # number of shown regions with the smallest distances
MAX_ROWS = 20  # per table in the terminal
MAX_NAMES = 12  # arms per list in the terminal
_CONSTANT_SYMBOLS = {
    "lower_constant": "D1",
    "lower_exponent": "γ1",
    "upper_constant": "D2",
    "upper_exponent": "γ2",
    "informativeness": "γ",
}


def facts_of(model: AnyModel, name: str, theta: Any) -> dict[str, Any]:
    """Return the facts about a model of one or of several unknown numbers."""
    if isinstance(model, VectorModel):
        return vector_facts(model, name, theta)
    return model_facts(model, name, theta)


def model_facts(model: RewardModel, name: str, theta: float | None) -> dict[str, Any]:
    """Return arms, regions, constants and hardest parameters, and facts at theta if it is given.

    >>> from globalbandits.model.catalogue.names import three_arms
    >>> facts = model_facts(three_arms(), "three-arms", 0.5)
    >>> [round(region["high"], 4) for region in facts["regions"]]
    [0.4302, 0.8, 1.0]
    >>> round(facts["at_theta"]["suboptimality_distance"], 4)
    0.0698
    """
    regions = [_region_facts(model, index) for index in range(len(model.regions))]
    inner = sorted(regions, key=lambda region: region["largest_distance"])
    return {
        "version": __version__,
        "model": name,
        "n_arms": model.n_arms,
        "domain": list(model.domain),
        "reward_range": list(model.reward_range),
        "valued": model.valued,
        "worth_range": list(model.worth_range),
        "remarks": list(model.remarks),
        "monotone": model.monotone,
        "informativeness": model.informativeness if model.monotone else None,
        "constants": _constants(model) if model.monotone else None,
        "arms": _arm_facts(model),
        "regions": regions,
        "dominated": [model.arms[arm] for arm in model.dominated],
        "hardest": {
            "edges": [region["low"] for region in regions[1:]],
            "regions": [_with_gap(model, region) for region in inner[:N_HARDEST]],
        },
        "at_theta": None if theta is None else theta_facts(model, theta),
    }


def vector_facts(model: VectorModel, name: str, theta: Any) -> dict[str, Any]:
    """Return what is known about several numbers before playing, and facts at theta if given."""
    regions, traps, sets = model.regions(), model.traps(), model.identification()
    return {
        "version": __version__,
        "model": name,
        "n_arms": model.n_arms,
        "parameters": list(model.parameters),
        "domain": {key: list(ends) for key, ends in model.domain.items()},
        "reward_range": list(model.reward_range),
        "valued": model.valued,
        "worth_range": list(model.worth_range),
        "remarks": list(model.remarks),
        "monotone": model.monotone,
        "arms": [
            {"arm": arm, "share": share}
            for arm, share in zip(model.arms, regions.shares.tolist(), strict=True)
        ],
        "dominated": [model.arms[arm] for arm in regions.dominated],
        "identification": [
            {
                "arms": [model.arms[arm] for arm in arms],
                "plays": _finite(plays),
                "plays_95": _finite(most),
            }
            for arms, plays, most in zip(
                sets.sets, sets.plays.tolist(), sets.plays_95.tolist(), strict=True
            )
        ],
        "traps": {
            "absorbing": traps.absorbing,
            "possible": traps.possible,
            "mean_loss": traps.mean_loss,
            "example": None if traps.example is None else traps.example._asdict(),
            "text": str(traps),
        },
        "at_theta": None if theta is None else _vector_theta_facts(model, theta),
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _vector_theta_facts(model: VectorModel, theta: Any) -> dict[str, Any]:
    worth, bound = model.worth(model.as_theta(theta)), model.lower_bound(theta)
    return {
        "theta": model.named(model.as_theta(theta)),
        "best": [model.arms[arm] for arm in model.best_arms(theta)],
        "best_mean": float(model.means(theta)[worth.argmax()]),
        "best_worth": float(worth.max()),
        "suboptimality_gap": _finite(bound.gap),
        "lower_bound": _finite(bound.constant),
        "lower_bound_from": bound.horizon,
    }


def theta_facts(model: RewardModel, theta: float) -> dict[str, Any]:
    """Return the best arms at a parameter, their gap to the others, and the distance to the edge.

    The best arm has the highest worth. In a model without a value function, worth is the mean.
    ``nearest_edge``, the nearest parameter at which other arms are best, is None if there is none.
    """
    distance = model.suboptimality_distance(theta)
    best = model.best_arms(theta)
    gap = model.suboptimality_gap(theta)
    worth = model.worth(theta)
    return {
        "theta": theta,
        "best": [model.arms[arm] for arm in best],
        "best_mean": float(model.means(theta)[worth.argmax()]),
        "best_worth": float(worth.max()),
        "suboptimality_gap": gap if math.isfinite(gap) else None,
        "suboptimality_distance": distance,
        "nearest_edge": model.nearest_edge(theta),
    }


def _constants(model: RewardModel) -> dict[str, float]:
    holder = model.holder
    return {
        "inverse_constant": float(holder.inverse_constant),
        "inverse_exponent": float(holder.inverse_exponent),
        "constant": float(holder.constant),
        "exponent": float(holder.exponent),
    }


def _arm_facts(model: RewardModel) -> list[dict[str, Any]]:
    low, high = model.means(list(model.domain)).tolist()
    worths = model.worth(list(model.domain)).T.tolist()
    constants = _arm_constants(model) if model.monotone else [{} for _ in model.arms]
    columns = zip(model.arms, low, high, worths, constants, strict=True)
    return [
        {
            "arm": arm,
            "mean_at_low": at_low,
            "mean_at_high": at_high,
            **({"worth_at_low": worth[0], "worth_at_high": worth[1]} if model.valued else {}),
            **of_arm,
        }
        for arm, at_low, at_high, worth, of_arm in columns
    ]


def _arm_constants(model: RewardModel) -> list[dict[str, float]]:
    """Return the constants of Assumption 1, arm by arm."""
    holder = model.holder
    columns = zip(
        holder.lower_constant.tolist(),
        holder.lower_exponent.tolist(),
        holder.upper_constant.tolist(),
        holder.upper_exponent.tolist(),
        strict=True,
    )
    return [
        {
            "lower_constant": d1,
            "lower_exponent": g1,
            "upper_constant": d2,
            "upper_exponent": g2,
            "informativeness": g2 / g1,
        }
        for d1, g1, d2, g2 in columns
    ]


def _region_facts(model: RewardModel, index: int) -> dict[str, Any]:
    """Return a region, and the theta in it with the largest suboptimality distance.

    The distance is min(theta - left, right - theta). Left and right are the nearest parameters at
    which the region's arms are suboptimal; they are the same in the whole region.
    """
    region = model.regions[index]
    envelope = model.tables.envelope
    cell = 2 * index + 1
    left, right = float(envelope.sub_low[cell]), float(envelope.sub_high[cell])
    if math.isinf(left) and math.isinf(right):
        easiest, distance = (region.low + region.high) / 2, model.domain[1] - model.domain[0]
    else:
        middle = region.low if math.isinf(left) else region.high
        if math.isfinite(left) and math.isfinite(right):
            middle = min(max((left + right) / 2, region.low), region.high)
        easiest, distance = middle, min(middle - left, right - middle)
    return {
        "arms": [model.arms[arm] for arm in region.arms],
        "low": region.low,
        "high": region.high,
        "largest_distance": distance,
        "easiest": easiest,
    }


def _with_gap(model: RewardModel, region: dict[str, Any]) -> dict[str, Any]:
    gap = model.suboptimality_gap(region["easiest"])
    return {**region, "suboptimality_gap": gap if math.isfinite(gap) else None}


def print_facts(facts: dict[str, Any], console: "Console") -> None:
    """Print the facts; long tables are shortened."""
    for part in _parts(facts):
        console.print(part)


def _parts(facts: dict[str, Any]) -> "Iterator[RenderableType]":
    """Yield the answers first and the constants of the theory last."""
    if "traps" in facts:
        yield from _vector_parts(facts)
        return
    yield _summary(facts)
    if facts["at_theta"] is not None:
        yield _at_theta(facts["at_theta"], facts["valued"])
    yield _table(
        "Regions: where which arm is worth most"
        if facts["valued"]
        else "Regions: where which arm is best",
        ("arm", "from θ", "to θ", "largest Δmin", "at θ"),
        [
            [names(region["arms"]), *(show(value) for value in list(region.values())[1:])]
            for region in facts["regions"]
        ],
    )
    if facts["dominated"]:
        yield f"Never best: {names(facts['dominated'], ', ')}\n"
    means = {"mean_at_low": "μ(low θ)", "mean_at_high": "μ(high θ)"}
    worths = {"worth_at_low": "worth(low θ)", "worth_at_high": "worth(high θ)"}
    yield _arms("Arms: at the ends of the domain", facts, means | worths)
    yield from _hardest(facts["hardest"])
    yield from _constants_text(facts)


def _vector_parts(facts: dict[str, Any]) -> "Iterator[RenderableType]":
    """Yield the facts about several numbers."""
    box = ", ".join(f"{name} in [{a:g}, {b:g}]" for name, (a, b) in facts["domain"].items())
    yield (
        f"{show(facts['model'])}: {counted(facts['n_arms'], 'arm')}, {box}, "
        f"{counted(len(facts['dominated']), 'arm')} never best\n"
        + "".join(f"note: {show(remark)}\n" for remark in facts["remarks"])
    )
    if facts["at_theta"] is not None:
        yield _at_vector(facts["at_theta"])
    yield _table(
        "Share of the box on which an arm is best",
        ("arm", "share"),
        [[show(arm["arm"]), f"{arm['share']:.1%}"] for arm in facts["arms"]],
    )
    sets = facts["identification"]
    chosen = sets if len(sets) <= 4 else [*sets[:3], sets[-1]]
    yield _table(
        "Plays of each arm until every number is known to a tenth of its range",
        ("arms", "median of the box", "95 % of the box"),
        [
            [names(row["arms"], ", "), *(_plays(row[key]) for key in ("plays", "plays_95"))]
            for row in chosen
        ],
    )
    yield show(facts["traps"]["text"])


def _plays(number: float | None) -> str:
    return "never" if number is None else f"{number:,.0f}"


def _at_vector(at: dict[str, Any]) -> str:
    where = ", ".join(f"{name} {show(number)}" for name, number in at["theta"].items())
    bound = at["lower_bound"]
    text = (
        "no policy can learn it"
        if bound is None
        else f"regret grows at least as {show(bound)} log T"
        if bound > 0.0
        else "bounded regret is possible"
    )
    return (
        f"At {where}: best {names(at['best'])} with mean {show(at['best_mean'])} and worth "
        f"{show(at['best_worth'])}, gap {show(at['suboptimality_gap'])}; {text}\n"
    )


def _constants_text(facts: dict[str, Any]) -> "Iterator[RenderableType]":
    if facts["constants"] is None:
        yield "Some mean is flat or turns: theta cannot be read off it, so there are no constants."
        return
    constants = facts["constants"]
    yield _arms("Constants", facts, _CONSTANT_SYMBOLS)
    yield (
        "|μ(θ) - μ(θ')| lies between D1 |θ - θ'|^γ1 and D2 |θ - θ'|^γ2. "
        f"All arms: informativeness γ = {show(facts['informativeness'])}, "
        f"D̄1 = {show(constants['inverse_constant'])}, γ̄1 = {show(constants['inverse_exponent'])}, "
        f"D2 = {show(constants['constant'])}, γ2 = {show(constants['exponent'])}"
    )


def _arms(title: str, facts: dict[str, Any], columns: dict[str, str]) -> "RenderableType":
    """Return one row per arm, with the columns that the facts have."""
    keys = [key for key in columns if key in facts["arms"][0]]
    rows = [[show(arm[key]) for key in ("arm", *keys)] for arm in facts["arms"]]
    return _table(title, ("arm", *(columns[key] for key in keys)), rows)


def _hardest(hardest: dict[str, Any]) -> "Iterator[RenderableType]":
    if not hardest["edges"]:
        yield "Hardest parameters: none, the same arms are best everywhere\n"
        return
    edges = [show(edge) for edge in hardest["edges"]]
    yield f"Hardest parameters: Δmin falls to 0 at the edges θ = {names(edges, ', ')}"
    yield _table(
        "Hardest regions, at their easiest θ",
        ("θ", "Δmin", "δmin", "best"),
        [
            [
                show(region["easiest"]),
                show(region["largest_distance"]),
                show(region["suboptimality_gap"]),
                names(region["arms"]),
            ]
            for region in hardest["regions"]
        ],
    )


def _summary(facts: dict[str, Any]) -> str:
    low, high = facts["domain"]
    least, most = facts["worth_range"]
    worth = f"a decision is worth {show(least)} to {show(most)}\n" if facts["valued"] else ""
    remarks = "".join(f"note: {show(remark)}\n" for remark in facts["remarks"])
    return (
        f"{show(facts['model'])}: {counted(facts['n_arms'], 'arm')}, θ in [{low:g}, {high:g}], "
        f"{counted(len(facts['regions']), 'region')}, "
        f"{counted(len(facts['dominated']), 'arm')} never best\n"
        f"{worth}{remarks}"
    )


def _at_theta(at: dict[str, Any], valued: bool) -> str:
    gap = at["suboptimality_gap"]
    edge = at["nearest_edge"]
    worth = f" and worth {show(at['best_worth'])}" if valued else ""
    shown_gap = "every arm is best" if gap is None else f"δmin = {show(gap)}"
    shown_edge = "no other arm is ever best" if edge is None else f"nearest edge θ = {show(edge)}"
    return (
        f"At θ = {show(at['theta'])}: best {names(at['best'])} "
        f"with mean {show(at['best_mean'])}{worth}, {shown_gap}, "
        f"Δmin = {show(at['suboptimality_distance'])} ({shown_edge})\n"
    )


def _table(title: str, columns: tuple[str, ...], rows: list[list[str]]) -> "RenderableType":
    shown = rows if len(rows) <= MAX_ROWS else [*rows[: MAX_ROWS - 2], rows[-1]]
    table = text_table(columns, shown, title=title, left=())
    if len(shown) < len(rows):
        table.caption = f"{len(rows) - len(shown):,} more before the last; --json has all"
        table.caption_justify = "left"
    return table


def show(value: object) -> str:
    """Return a value in one line: numbers with at most six digits, and "-" for None.

    >>> show(0.4000000001), show(1234567.0), show("high"), show(None)
    ('0.4', '1.23457e+06', 'high', '-')
    """
    return "-" if value is None else printed_label(value)


def names(arms: list[Any], separator: str = " = ") -> str:
    """Return arms in one line, at most the first twelve.

    >>> names([0.4, 0.45]), names(list(range(100)), ", ")
    ('0.4 = 0.45', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... (100)')
    """
    shown = separator.join(show(arm) for arm in arms[:MAX_NAMES])
    return shown if len(arms) <= MAX_NAMES else f"{shown}{separator}... ({len(arms)})"
