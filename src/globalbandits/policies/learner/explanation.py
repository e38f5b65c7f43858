"""`Explanation`: a learner's next choice with its reason, as text or HTML."""

import copy
import dataclasses
import math
import re
from typing import Any

import numpy as np

from globalbandits import pages
from globalbandits._types import IntArray
from globalbandits.evidence.evidence import MIN_OBSERVATIONS_AT_END
from globalbandits.model import AnyModel, RewardModel, VectorModel
from globalbandits.model.tables import evaluate
from globalbandits.plots.labels import alike, counted
from globalbandits.policies.base import Policy, Setup, State, read_numbers, require_masks
from globalbandits.statistics import Statistics

_MAX_ROWS = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArmReport:
    """One arm at the next decision. Rewards are in the model's units."""

    arm: int
    value: Any  # the arm's user-facing value: a price, a dose, a label
    pulls: int
    mean: float | None  # of the observed rewards
    model_mean: float | None  # the curve at the learner's estimate
    worth: float | None  # at the model mean, or at the observed mean if there is no estimate
    estimate: float | None  # of the parameter, from this arm's rewards alone


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explanation:
    """A learner's arms and its next choice. Print it to read it.

    Arms of a model with a target are called doses if they have labels or amounts.
    """

    policy: str
    n_observations: int
    estimate: float | dict[str, float] | None  # a dict by name for several unknown numbers
    choice: int  # what `select` would return now
    reason: str
    details: dict[str, Any]  # the policy's own numbers; for BUW the phase and C2
    arms: tuple[ArmReport, ...]
    valued: bool = False  # whether worth differs from the mean reward
    doses: bool = False  # whether the arms are doses of a model with a target
    remarks: tuple[str, ...] = ()  # what may be wrong with domain or arms
    # Columns of the policy's posterior by name, one entry per arm.
    posterior: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    # Posterior standard deviation of each of several unknown numbers; of the prior at first.
    deviations: dict[str, float] | None = None

    context: str | None = None  # of the choice

    def of_context(self, context: str | None, first: int, model: Any) -> "Explanation":
        """Return the part of one context; ``first`` is the cell of its first arm."""
        rows = self.arms[first : first + model.n_arms]
        arms = tuple(
            dataclasses.replace(row, arm=row.arm - first, value=value)
            for row, value in zip(rows, model.arms, strict=True)
        )
        here = model if context is None else model.in_context(context)
        remarks = learning_remarks(here, self.n_observations, self.estimate)
        return dataclasses.replace(
            self, arms=arms, choice=self.choice - first, context=context, remarks=remarks
        )

    def __str__(self) -> str:
        """Heading, choice with its reason, and a table of the arms."""
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        rows = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
        notes = [f"note: {remark}" for remark in self.remarks]
        return "\n".join(
            [self._heading(), f"next: {self._next()}", *rows, *self._left_out(), *notes]
        )

    def _repr_html_(self) -> str:
        header, *rows = self._cells()
        return "".join(
            [
                pages.paragraph(f"Next: {self._next()}", strong=True),
                pages.paragraph(self._heading()),
                pages.table(header, rows),
                *map(pages.paragraph, (*self._left_out(), *self.remarks)),
            ]
        )

    def _heading(self) -> str:
        n_used = sum(row.pulls for row in self.arms)
        used = "" if n_used == self.n_observations else f", of which {n_used} count now"
        if self.context is not None:
            used = f", of which {n_used} in the context {self.context}"
        estimate = f"estimate {show_estimate(self.estimate, self.deviations)}"
        return (
            f"{self.policy} after {counted(self.n_observations, 'observation')}{used}; {estimate}"
        )

    def _next(self) -> str:
        if self.choice < 0:
            return f"no {'dose' if self.doses else 'arm'}, {self.reason}"
        chosen = self.arms[self.choice]
        if self.doses:
            return f"{dose_label(chosen.value)}, {self.reason}"
        return f"arm {chosen.arm} ({self._values()[chosen.arm]}), {self.reason}"

    def _values(self) -> list[str]:
        return alike([row.value for row in self.arms])

    def _shown(self) -> list[ArmReport]:
        """Return the arms with most pulls, and the chosen one, in order of their indices."""
        rows = sorted(self.arms, key=lambda row: (-row.pulls, row.arm))[:_MAX_ROWS]
        if self.choice >= 0 and self.arms[self.choice] not in rows:
            rows[-1] = self.arms[self.choice]
        return sorted(rows, key=lambda row: row.arm)

    def _left_out(self) -> list[str]:
        left = len(self.arms) - len(self._shown())
        kind = "doses with fewer patients" if self.doses else "arms with fewer pulls"
        return [f"({left} {kind} not shown)"] if left else []

    def _cells(self) -> list[list[str]]:
        if self.doses:
            return self._dose_cells()
        worth = ["worth"] if self.valued else []
        values = self._values()
        cells = [["arm", "value", "pulls", "mean", "model mean", *worth, "own estimate"]]
        cells[0] += list(self.posterior)
        return cells + [
            [
                f"{'>' if row.arm == self.choice else ''}{row.arm}",
                values[row.arm],
                f"{row.pulls}",
                _number(row.mean),
                _number(row.model_mean),
                *([_number(row.worth)] if self.valued else []),
                _number(row.estimate),
                *(f"{column[row.arm]:.3f}" for column in self.posterior.values()),
            ]
            for row in self._shown()
        ]

    def _dose_cells(self) -> list[list[str]]:
        header = ["dose", "patients", "observed rate", "rate at estimate", *self.posterior]
        return [header] + [
            [
                f"{'>' if row.arm == self.choice else ''}{dose_label(row.value)}",
                f"{row.pulls}",
                _number(row.mean),
                _number(row.model_mean),
                *(f"{column[row.arm]:.3f}" for column in self.posterior.values()),
            ]
            for row in self._shown()
        ]


def explain(
    policy: Policy,
    model: Any,
    setup: Setup,
    stats: Statistics,
    state: State,
    latest: State,
    rng: np.random.Generator,
    offered: IntArray | None = None,
) -> Explanation:
    """Explain the next decision, among some arms or all, without changing state or generator.

    The estimate is that of ``latest``, the state after a fit to all rewards.
    """
    low, high = model.reward_range
    rules = policy.rules_of(setup)
    estimate: float | dict[str, float] | None
    deviations = None
    if rules.numbers is None:
        estimate = _or_none(rules.estimate(setup, stats, latest))
    else:
        numbers, spread = read_numbers(rules, setup, stats, latest)
        estimate = dict(zip(model.parameters, numbers.tolist(), strict=True))
        deviations = dict(zip(model.parameters, spread.tolist(), strict=True))
        # Several numbers have no estimate if their confidence set is empty.
        if stats.total[0] == 0 or np.isnan(numbers).any():
            estimate = None
    model_means = [None] * model.n_arms if estimate is None else model.means(estimate).tolist()
    used = policy.observed(stats, state)
    arms = []
    for arm, (count, total) in enumerate(
        zip(used.counts.tolist(), used.sums.tolist(), strict=True)
    ):
        mean = total / count if count > 0 else math.nan
        tells = count > 0 and setup.tables.invertible
        own = evaluate(setup.tables.inverse, arm, mean) if tells else math.nan
        observed, by_model = _or_none(low + (high - low) * mean), model_means[arm]
        known = observed if by_model is None else by_model
        arms.append(
            ArmReport(
                arm=arm,
                value=model.arms[arm],
                pulls=count,
                mean=observed,
                model_mean=by_model,
                worth=None if known is None else model.worth_of(arm, known),
                estimate=_or_none(own),
            )
        )
    moved = None
    if offered is None:
        moved = policy.limit(setup, stats, state, copy.deepcopy(rng))
        choice = int(rules.select(setup, stats, state, copy.deepcopy(rng)))
    else:
        choose = require_masks(policy, rules)
        choice = int(choose(setup, stats, state, offered, copy.deepcopy(rng)))
    reason = policy.reason(setup, stats, state)
    if offered is not None:
        reason = f"the best arm on offer by this rule for all arms: {reason}"
    if choice < 0:
        reason = policy.no_arm(setup, stats, state)
    if moved is not None:
        reason = f"{moved} (unlimited: {reason})"
    return Explanation(
        policy=policy.label,
        n_observations=int(stats.total[0]),
        estimate=estimate,
        choice=choice,
        reason=in_words_of(model, reason),
        details=policy.details(setup, stats, state),
        arms=tuple(arms),
        valued=model.valued,
        doses=has_doses(model),
        remarks=learning_remarks(model, int(stats.total[0]), estimate),
        deviations=deviations,
        posterior=policy.posterior(setup, stats, state),
    )


def has_doses(model: Any) -> bool:
    """Whether a model has a target, and its arms are labels or amounts of doses.

    The arms of `gb.dose.power` without labels are guesses of rates.
    """
    if not isinstance(model, RewardModel | VectorModel) or model.target is None:
        return False
    return isinstance(model, VectorModel) or all(isinstance(arm, str) for arm in model.arms)


def dose_label(arm: Any) -> str:
    """Return the label of a dose.

    >>> dose_label("5 mg"), dose_label(5.0)
    ('5 mg', 'dose 5')
    """
    return arm if isinstance(arm, str) else f"dose {arm:g}"


def in_words_of(model: Any, text: str) -> str:
    """Return a policy's text about arms and rewards; in the words of a trial if arms are doses.

    >>> import globalbandits as gb
    >>> model = gb.trial.crm([0.1, 0.3], 0.2, doses=["5 mg", "10 mg"]).model
    >>> in_words_of(model, "the cohort on arm 1 has 2 of 3 rewards")
    'the cohort on 10 mg has 2 of 3 outcomes'
    """
    if not has_doses(model):
        return text
    named = re.sub(r"\barm (\d+)", lambda found: dose_label(model.arms[int(found[1])]), text)
    return re.sub(r"\barm", "dose", re.sub(r"\breward", "outcome", named))


def show_estimate(
    estimate: float | dict[str, float] | None, deviations: dict[str, float] | None = None
) -> str:
    """Return an estimate as text, with the standard deviations of several numbers.

    >>> show_estimate({"level": 0.5, "slope": 0.2}, {"level": 0.1, "slope": 0.03})
    'level 0.5 (sd 0.1), slope 0.2 (sd 0.03)'
    """
    if not isinstance(estimate, dict):
        return _number(estimate)
    spread = {} if deviations is None else deviations
    return ", ".join(
        f"{name} {_number(value)}" + (f" (sd {spread[name]:.2g})" if name in spread else "")
        for name, value in estimate.items()
    )


def learning_remarks(model: Any, n_observations: int, estimate: Any) -> tuple[str, ...]:
    """Return remarks about an estimate at the end of the domain, or a best arm at the end.

    Args:
        model: a `RewardModel` or a `VectorModel`; there are no remarks about others.
        n_observations: number of rewards; with few there is no remark about the estimate.
        estimate: the estimate of the parameter, or a dict of several by name.
    """
    if not isinstance(model, RewardModel | VectorModel):
        return ()
    if estimate is None or n_observations < MIN_OBSERVATIONS_AT_END:
        return model.remarks
    found, end = list(model.remarks), estimated_end(model, n_observations, estimate)
    if end:
        found.append(f"the estimate lies at the {end} end of the domain: widen the domain")
    text = end_of_offer(model, int(model.worth(estimate).argmax()))
    return (*found, text) if text else tuple(found)


def estimated_end(model: Any, n_observations: int, estimate: Any) -> str:
    """Return "lower" or "upper" if enough rewards put the estimate at that end of the domain."""
    if n_observations < MIN_OBSERVATIONS_AT_END or not isinstance(model, RewardModel):
        return ""
    return model.end_of_domain(estimate)


def end_of_offer(model: AnyModel, arm: int) -> str:
    """Return a remark if the best arm is the highest or lowest of numbers; "" otherwise.

    >>> import globalbandits as gb
    >>> end_of_offer(gb.demand.exponential([2.0, 3.0, 4.0]), 2)
    '4.0 is the highest arm on offer: a higher one may be better'
    """
    arms = model.arms
    if len(arms) < 2 or not all(isinstance(each, int | float) for each in arms):
        return ""
    for end, word, better in ((max(arms), "highest", "higher"), (min(arms), "lowest", "lower")):
        if arms[arm] == end:
            return f"{end!r} is the {word} arm on offer: a {better} one may be better"
    return ""


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
