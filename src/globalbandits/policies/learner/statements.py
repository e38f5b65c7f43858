"""What a learner can say at any time about what it has seen, whatever its policy."""

from abc import abstractmethod
from typing import TYPE_CHECKING

from globalbandits.evidence import (
    Contenders,
    Drift,
    Earnings,
    Evidence,
    Interval,
    ModelEvidence,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Statements:
    """Statements that hold at all times at once, each from a copy of the evidence."""

    @abstractmethod
    def _evidence_now(self) -> Evidence:
        """A copy that other threads do not change while statements are computed from it."""

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval that holds the parameter at all times, with probability ``confidence``."""
        return self._evidence_now().interval(confidence)

    def evidence_against_model(self) -> ModelEvidence:
        """How strongly the rewards speak against the model, whatever the parameter is."""
        return self._evidence_now().against_model()

    def contenders(self, confidence: float = 0.95) -> Contenders:
        """The arms that can still be best."""
        return self._evidence_now().contenders(confidence)

    def drift(self, alpha: float = 0.05) -> Drift:
        """Whether the parameter has moved, with a false-alarm rate of ``alpha``."""
        return self._evidence_now().drift(alpha)

    def earnings(self, baseline: int, confidence: float = 0.95) -> Earnings:
        """What the plays were worth beyond always one arm, such as today's price (an index)."""
        return self._evidence_now().earnings(baseline, confidence)

    def plot_worth(
        self, confidence: float = 0.95, *, baseline: int | None = None, ax: "Axes | None" = None
    ) -> "Figure":
        """What each arm is worth, how sure that is, what was observed, and which arm is best."""
        return self._evidence_now().plot_worth(confidence, baseline=baseline, ax=ax)

    def plot_evidence(self, confidence: float = 0.95, *, title: str = "") -> "Figure":
        """Interval, e-value and contenders over the times that are still known."""
        return self._evidence_now().plot_evidence(confidence, title=title)

    @property
    def evidence(self) -> Evidence:
        """What the rewards say, apart from what the policy makes of them: a copy of it."""
        return self._evidence_now()
