"""How a learner calls its policy's rules: compiled, or in plain Python."""

from collections.abc import Callable

from globalbandits._validation import require
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError
from globalbandits.evidence import Evidence
from globalbandits.policies.base import Policy
from globalbandits.policies.learner.live import CHOOSE, Live, live_loop
from globalbandits.statistics import count


class Calls:
    """The two calls of a learner; only one thread at a time may use them.

    Args:
        policy: the policy.
        live: what its rules read and write. Arrays are changed in place and never replaced.
        evidence: what the rewards say, with the histogram and the statistics of ``live``.
        compiled: True compiles now, False uses plain Python, None uses compiled code if it is in
            memory or on disk.
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
        self._call: Callable[[int, float], int] | None = None  # None in plain Python
        loop, name = live_loop(policy.rules), type(policy).__name__
        if compiled is None:
            self._call = Engine().bind_known(loop, (live,), CHOOSE, 0.0)
        elif compiled:
            self._call = Engine().bind(loop, name, (live,), CHOOSE, 0.0, keeps_lock=True)

    @property
    def is_compiled(self) -> bool:
        """Whether the rules are called in one piece, as compiled code is."""
        return self._call is not None

    def choose(self) -> int:
        """The arm to play next."""
        if self._call is not None:
            return self._call(CHOOSE, 0.0)
        setup, stats, state, rng, _ = self._live
        return int(self._policy.rules.select(setup, stats, state, rng))

    def learn(self, arm: int, unit: float) -> None:
        """Learn a reward on the unit scale."""
        if self._call is not None:
            self._call(arm, unit)
            self._evidence.tick()
            return
        setup, stats, state, _, _ = self._live
        count(stats, arm, unit)
        self._policy.rules.update(setup, stats, state, arm, unit)
        self._evidence.note(arm, unit)
