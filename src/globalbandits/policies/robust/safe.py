"""Another policy made safe: the arms' own rewards set a floor and a ceiling to its choices."""

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._validation import as_positive, require
from globalbandits.errors import PolicyError
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.paper.wagp import WAGP
from globalbandits.policies.parts.nesting import Around, as_policy, moved_twice
from globalbandits.policies.parts.sandwich import LARGEST_VARIANCE
from globalbandits.policies.parts.securing import Setup, State, secure
from globalbandits.policies.parts.valuing import unit_scale
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_WAGP = WAGP()


@register("safe")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Safe(Around):
    """Play another policy's choice, unless the arms' own rewards speak clearly against it.

    An arm with N rewards of mean m has the floor ``m + sqrt(v/N) psi(eps t / N)`` and the
    ceiling ``m + sqrt(v/N) psi(10 t / N)``. The choice is played while its ceiling is not below
    the largest floor; else the arm of that floor is. From round 1/eps on an arm without rewards
    has an infinite floor. All of this is renewed when t has grown by 7 %, or N by 1 %. With a
    ``variance`` that bounds every arm's rewards, regret is sub-linear whatever the means are
    and whatever the inner policy does (docs/elastic.md). Means must stay as they are: where they
    move, an arm's old rewards keep the inner policy from following. A saved state holds the
    inner policy's; forgetting and merging work where they do for it.

    Value: exact for rising lines. For any other one bounds are the most that a mean as near to
    the arm's own can be worth; the proof does not cover it.

    Args:
        inner: the policy to be made safe; may be given without its name.
        caution: eps times the number of arms, positive. More finds wrong curves sooner, and
            costs more where they are right.
        variance: v above, on the unit reward scale: of a Normal whose tails bound those of
            every arm's rewards (sub-Gaussian). 1/4 holds for any rewards; less must be known.
            None to learn it, which costs less and is not proved.

    >>> from globalbandits.policies import WAGP
    >>> Safe(WAGP()).label, Safe(WAGP(), variance=None).label
    ('Safe(WAGP)', 'Safe(WAGP, variance=None)')
    """

    inner: Policy = dataclasses.field(default=_WAGP, kw_only=False)
    caution: float = 0.001
    variance: float | None = LARGEST_VARIANCE

    def __post_init__(self) -> None:
        """Check every parameter."""
        object.__setattr__(self, "inner", as_policy("inner", self.inner))
        object.__setattr__(self, "caution", as_positive("caution", self.caution, PolicyError))
        if self.variance is not None:
            variance = as_positive("variance", self.variance, PolicyError)
            rule = "be at most 1/4, the largest variance of rewards in [0, 1]"
            require(variance <= LARGEST_VARIANCE, "variance", rule, self.variance, PolicyError)
            object.__setattr__(self, "variance", variance)

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The inner policy's rules between floors and ceilings."""
        return secure(self.inner.rules)

    def setup(self, model: "RewardModel") -> Setup:
        """The inner policy's setup and the constants."""
        return Setup(
            tables=model.tables,
            inner=self.inner.setup(model),
            caution=self.caution / model.n_arms,
            variance=self.variance or 0.0,
        )

    def limit(
        self, setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> str | None:
        """Which bound moved the inner policy's choice, and from where; and what did inside."""
        inside = self.inner.limit(setup.inner, stats, state.inner, copy.deepcopy(rng))
        wanted = int(self.inner.rules.select(setup.inner, stats, state.inner, rng))
        highest = int(state.highest[0])
        ceiling, floor = float(state.ceilings[wanted]), float(state.floors[highest])
        if ceiling >= floor:
            return inside
        moved = f"moved from arm {wanted}: arm {highest} has no reward yet and must have one"
        if stats.counts[highest] > 0:
            moved = (
                f"moved from arm {wanted}, whose own rewards allow {ceiling:.6g} at most, "
                f"to arm {highest}, whose rewards allow {floor:.6g} at least, "
                f"on {unit_scale(setup.tables)}"
            )
        return moved_twice(inside, moved)

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """The bounds of every arm (None: no bound yet), and the inner policy's own numbers."""
        bounds = {
            name: [value if np.isfinite(value) else None for value in values.tolist()]
            for name, values in (("floors", state.floors), ("ceilings", state.ceilings))
        }
        return bounds | self.inner.details(setup.inner, stats, state.inner)
