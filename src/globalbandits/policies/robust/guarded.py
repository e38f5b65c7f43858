"""A structured policy under guard: its model is tested while it is used."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._validation import as_float, as_fraction, as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.paper.wagp import WAGP
from globalbandits.policies.parts.guarding import Setup, State, explores, guard
from globalbandits.policies.parts.nesting import as_policy, label_around
from globalbandits.policies.robust.elastic import Elastic
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_WAGP, _ELASTIC = WAGP(), Elastic()


@register("guarded")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Guarded(Policy):
    """Play a structured policy, test its model all the while, and leave it when it is refuted.

    With probability ``exploration * t**(-1/3)`` round t plays any arm: rewards of a single arm
    can never refute a model. Over T rounds that is about ``1.5 * exploration * T**(2/3)``
    plays, each of which costs the mean gap of the arms (`exploration_cost`).

    When no theta is left that explains all arms (the spike-and-slab process, at false-alarm
    rate ``alpha`` over all time), the fallback takes over for good, with all rewards since the last
    restart. A restart is this: if a change of theta explains the rewards better than a wrong
    model does, the inner policy starts again with nothing, at most ``restarts`` times. The model
    is tested by what is observed. Value: what both policies make of it.

    It is an alarm, and a remedy for a parameter that jumps. It does not protect against
    wrong arms: random plays find them late. Use `Elastic`, or `Safe` around the policy.

    Args:
        inner: the structured policy; may be given without its name.
        fallback: a policy that trusts the model less, or does without it.
        alpha: probability of ever leaving or restarting if the model is right and theta stays.
        exploration: how much to explore, 0 or more; at 0 the model may never be testable.
        restarts: how often a change of theta is believed; 0 for never.

    >>> from globalbandits.policies import WAGP
    >>> Guarded(WAGP()).label
    'Guarded(WAGP)'
    """

    inner: Policy = dataclasses.field(default=_WAGP, kw_only=False)
    fallback: Policy = _ELASTIC
    alpha: float = 0.05
    exploration: float = 0.5
    restarts: int = 3

    def __post_init__(self) -> None:
        for name in ("inner", "fallback"):
            object.__setattr__(self, name, as_policy(name, getattr(self, name)))
        object.__setattr__(self, "alpha", as_fraction("alpha", self.alpha, PolicyError))
        exploration = as_float("exploration", self.exploration, PolicyError)
        require(exploration >= 0.0, "exploration", "be at least 0", exploration, PolicyError)
        object.__setattr__(self, "exploration", exploration)
        restarts = as_integer("restarts", self.restarts, 0, PolicyError)
        object.__setattr__(self, "restarts", restarts)

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The rules of both policies, put together."""
        return guard(self.inner.rules, self.fallback.rules)

    @property
    def compiled(self) -> bool:  # type: ignore[override]
        """Whether the rules of both policies can be."""
        return self.inner.compiled and self.fallback.compiled

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """What the inner policy declares."""
        return self.inner.ignores_value

    def setup(self, model: "RewardModel") -> Setup:
        """Both policies' setups, and alpha shared out over the restarts."""
        starts = np.arange(1.0, self.restarts + 2.0)
        shares = 1.0 / (starts * (starts + 1.0)) if self.restarts else np.ones(1)
        return Setup(
            tables=model.tables,
            inner=self.inner.setup(model),
            fallback=self.fallback.setup(model),
            exploration=self.exploration,
            thresholds=-np.log(self.alpha * shares),
        )

    def exploration_cost(self, model: "RewardModel", theta: float, horizon: int) -> float:
        """Expected regret of the random plays in the first ``horizon`` rounds at theta."""
        rounds = np.arange(1.0, horizon + 1.0)
        n_plays = np.minimum(1.0, self.exploration * rounds ** (-1.0 / 3.0)).sum()
        return float(n_plays * model.gaps(theta).mean())

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Which policy plays, and its reason."""
        if state.refuted[0] == 1:
            reason = self.fallback.reason(setup.fallback, state.since, state.fallback)
            return f"model refuted, {reason}"
        return f"model not refuted, {self.inner.reason(setup.inner, state.since, state.inner)}"

    def limit(
        self, setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> str | None:
        """Whether this is one of the random plays, or what moved the choice inside."""
        if state.refuted[0] == 1:
            return self.fallback.limit(setup.fallback, state.since, state.fallback, rng)
        if explores(setup.exploration, state.since.total[0], rng.random()):
            return "any arm, to test the model"
        return self.inner.limit(setup.inner, state.since, state.inner, rng)

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Whether the model is refuted, and how often theta was believed to have moved."""
        return {"refuted": bool(state.refuted[0]), "restarts": int(state.n_restarts[0])}

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """What the policy that plays decides by: nothing from before the last restart."""
        if state.refuted[0] == 1:
            return self.fallback.observed(state.since, state.fallback)
        return self.inner.observed(state.since, state.inner)

    @property
    def label(self) -> str:
        """The inner policy's label, and the parameters that are not default."""
        return label_around(self)
