"""How a learner calls its policy's rules: in plain Python, or compiled once there is code."""

from time import perf_counter

from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.evidence import Evidence
from globalbandits.policies.base import Policy
from globalbandits.policies.learner.live import CHOOSE, Live, live_loop
from globalbandits.policies.learner.workshop import Call, workshop_of
from globalbandits.statistics import count


class Calls:
    """The two calls of a learner; only one thread at a time may use them.

    Args:
        policy: the policy.
        live: what its rules read and write. Arrays are changed in place, and none of them may
            be replaced by another one.
        evidence: what the rewards say, with the histogram and the statistics of ``live``.
        compiled: True compiles now, False never, None when it is worth it.
    """

    def __init__(
        self, policy: Policy, live: Live, evidence: Evidence, compiled: bool | None
    ) -> None:
        wanted = compiled is None or isinstance(compiled, bool)
        require(wanted, "compiled", "be True, False or None", compiled, PolicyError)
        self.compiled = compiled
        self._policy = policy
        self._live = live
        self._evidence = evidence
        self._workshop = workshop_of(policy.rules) if compiled is None else None
        self._call: Call | None = None  # where it is known how
        if compiled:
            from globalbandits.compiling.engine import Engine

            loop, name = live_loop(policy.rules), type(policy).__name__
            self._call = Engine().bind(loop, name, (live,), CHOOSE, 0.0, keeps_lock=True)

    def choose(self) -> int:
        """The arm to play next."""
        if self._call is not None:
            return self._call(CHOOSE, 0.0)
        setup, stats, state, rng, _ = self._live
        begun = perf_counter()
        arm = int(self._policy.rules.select(setup, stats, state, rng))
        self._spend(perf_counter() - begun)
        return arm

    def learn(self, arm: int, unit: float) -> None:
        """Learn a reward on the unit scale."""
        if self._call is not None:
            self._call(arm, unit)
            self._evidence.tick()
            return
        setup, stats, state, _, _ = self._live
        begun = perf_counter()
        count(stats, arm, unit)
        self._policy.rules.update(setup, stats, state, arm, unit)
        self._evidence.note(arm, unit)
        self._spend(perf_counter() - begun)

    def _spend(self, seconds: float) -> None:
        """Plain rules have cost something; take compiled ones if there are any by now."""
        if self._workshop is not None and self._workshop.spend(seconds):
            self._call = self._workshop.offer(self._policy, self._live)
