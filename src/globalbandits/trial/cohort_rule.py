"""`CohortRule`: the limits of `Limited` for whole cohorts, in many trials at once.

A trial that treats cohort after cohort has no open decisions. Then the limits of
``Limited(DoseEscalation(...), whole_cohorts=True)`` follow from the patients and the DLTs of the
doses, the present dose and the DLTs of its cohort.
"""

import numpy as np

from globalbandits._types import IntArray
from globalbandits.model import AnyModel
from globalbandits.policies.base import Policy
from globalbandits.policies.shared.elimination import eliminated, last_left
from globalbandits.policies.structured.cohort_design import NO_DOSE
from globalbandits.policies.structured.dose_escalation import DoseEscalation
from globalbandits.policies.wrappers.limited import Limited


class CohortRule:
    """The doses that a learner with the policy would choose, computed for many trials at once.

    Args:
        policy: ``Limited(DoseEscalation(...))`` with whole cohorts, or with cohorts of one.
        model: the dose model.
    """

    def __init__(self, policy: Limited, model: AnyModel) -> None:
        self.limits = policy.setup(model)
        self.posterior = self.limits.inner

    @staticmethod
    def applies(policy: Policy) -> bool:
        """Whether a policy can be computed for many trials at once."""
        return (
            isinstance(policy, Limited)
            and isinstance(policy.inner, DoseEscalation)
            and (policy.whole_cohorts or policy.cohort == 1)
        )

    def next_dose(
        self, treated: IntArray, events: IntArray, dose: IntArray, recent: IntArray, target: float
    ) -> IntArray:
        """Return the dose of the next cohort, or `NO_DOSE`."""
        limits = self.limits
        wanted = self.posterior.wishes(treated, events)
        here = np.clip(dose, limits.low, limits.high)
        top = np.minimum(here + limits.largest_step_up, limits.high)
        if limits.no_skipping:
            # A dose without patients may be entered, but not passed.
            places = np.arange(treated.shape[1])
            new = (treated == 0) & (places > here[:, np.newaxis])
            top = np.minimum(top, np.where(new.any(axis=1), new.argmax(axis=1), limits.high))
        if limits.coherent:
            top = np.where(recent >= limits.target * limits.cohort, here, top)
        bottom = np.maximum(here - limits.largest_step_down, limits.low)
        chosen = np.minimum(
            np.minimum(np.maximum(wanted, bottom), top), self._last(treated, events)
        )
        return np.where((wanted < 0) | (chosen < limits.low), NO_DOSE, chosen)

    def recommend(self, treated: IntArray, events: IntArray, target: float) -> IntArray:
        """Return the dose to recommend: one that was given, or `NO_DOSE`."""
        limits = self.limits
        wanted = self.posterior.wishes(treated, events)
        last = np.minimum(self._last(treated, events), limits.high)
        places = np.arange(treated.shape[1])
        usable = (places >= limits.low) & (places <= last[:, np.newaxis])
        if not limits.recommend_untried:
            usable &= treated > 0
        # The nearest usable dose below the wanted one; without one, the nearest above it.
        distance = wanted[:, np.newaxis] - places
        cost = np.where(distance >= 0, distance, len(places) - distance)
        chosen = np.where(usable, cost, 3 * len(places)).argmin(axis=1)
        return np.where((wanted < 0) | ~usable.any(axis=1), NO_DOSE, chosen)

    def _last(self, treated: IntArray, events: IntArray) -> IntArray:
        """Return the highest dose that is not eliminated; `NO_DOSE` if there is none."""
        limits = self.limits
        return last_left(eliminated(treated, events, limits.target, limits.elimination))
