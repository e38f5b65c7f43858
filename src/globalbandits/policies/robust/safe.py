"""Safe: floors and ceilings from the arms' own rewards limit the choices of another policy."""

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
    """Play another policy's choice, unless the arms' own rewards clearly contradict it.

    An arm with N rewards of mean m has the floor ``m + sqrt(v/N) psi(eps t / N)`` and the
    ceiling ``m + sqrt(v/N) psi(10 t / N)``. If the ceiling of the chosen arm is below the largest
    floor, the arm with that floor is played instead. From round 1/eps on an arm without rewards
    has an infinite floor. Bounds are computed again when t has grown by 7 % or N by 1 %.

    If ``variance`` bounds the variance of every arm's rewards, regret is sub-linear for all means
    and all inner policies (docs/elastic.md). Means must not change over time: old rewards of an
    arm would keep the inner policy from following. A learner can forget and be merged if the inner
    policy can.

    Value: exact for values that rise linearly with the mean. For others a bound is the largest
    worth of a mean that near to the arm's own; the proof does not cover this.

    Args:
        inner: the policy to be made safe; may be given by position.
        caution: eps times the number of arms, positive. Larger values find wrong curves sooner
            and cost more where the curves are right.
        variance: v above, on the unit reward scale: rewards of every arm are sub-Gaussian with
            this variance. 1/4 is valid for all rewards; a smaller value must be known. None to
            learn it, which costs less and is not covered by the proof.

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
        """The bound that moved the inner policy's choice, and what moved it inside."""
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
        """The bounds of every arm, None where there is none yet, and the inner policy's details."""
        bounds = {
            name: [value if np.isfinite(value) else None for value in values.tolist()]
            for name, values in (("floors", state.floors), ("ceilings", state.ceilings))
        }
        return bounds | self.inner.details(setup.inner, stats, state.inner)
