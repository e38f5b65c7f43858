"""`TITE`: the time-to-event continual reassessment, with weights for patients in follow-up.

Cheung and Chappell (2000). A patient without a DLT after a part w of the observation window has the
likelihood ``1 - w * rate``. A patient with a DLT, and one whose window is over, has the full
likelihood. So a patient can be treated at any time, and nobody waits for outcomes.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits._validation import as_integer, as_positive, require, require_known
from globalbandits.errors import PolicyError
from globalbandits.policies.structured.dose_escalation import DoseEscalation, Posterior

ARRIVALS = ("fixed", "poisson")
SCHEMES = ("linear", "adaptive")


class Patient(NamedTuple):
    """A patient of a trial with follow-up."""

    dose: int  # index
    follow_up: float  # time since the treatment, until now, the DLT or the end of the window
    dlt: bool


class Played(NamedTuple):
    """Simulated trials."""

    chosen: IntArray  # (run,) recommended doses
    treated: IntArray  # (run, dose) patients


@dataclasses.dataclass(frozen=True, kw_only=True)
class TITE:
    """The time-to-event continual reassessment method (TITE-CRM).

    A patient is treated on arrival. The dose is at most ``largest_step_up`` above that of the
    previous patient, as in dfcrm's `titesim`.

    Args:
        escalation: the prior, and the rule of the dose.
        window: the time in which a DLT counts, in a unit of yours, such as days.
        every: the mean time between arrivals, for simulations.
        arrivals: ``"fixed"`` or ``"poisson"``.
        weights: ``"linear"``: the share of the window; ``"adaptive"``: by the times of the DLTs so
            far.
        largest_step_up: the largest step up from the previous patient's dose.
    """

    escalation: DoseEscalation
    window: float
    every: float
    arrivals: str = "fixed"
    weights: str = "linear"
    largest_step_up: int = 1

    def __post_init__(self) -> None:
        right = isinstance(self.escalation, DoseEscalation)
        require(right, "escalation", "be a DoseEscalation", self.escalation, PolicyError)
        checked: dict[str, Any] = {
            "window": as_positive("window", self.window, PolicyError),
            "every": as_positive("every", self.every, PolicyError),
            "arrivals": require_known("arrivals", self.arrivals, ARRIVALS, PolicyError),
            "weights": require_known("weights", self.weights, SCHEMES, PolicyError),
            "largest_step_up": as_integer("largest_step_up", self.largest_step_up, 1, PolicyError),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def setup(self, model: Any) -> Posterior:
        """Return the model's rates at the points of the prior."""
        return self.escalation.setup(model)

    def weights_of(self, follow_up: FloatArray, dlt: BoolArray) -> FloatArray:
        """Return the weights of patients, one trial per row; 1 for patients with a DLT."""
        shares = np.minimum(follow_up / self.window, 1.0)
        if self.weights == "adaptive":
            for row in np.flatnonzero(dlt.any(axis=1)).tolist():
                # Between two DLT times the weight grows linearly, by the same amount each.
                times = np.concatenate([[0.0], np.sort(follow_up[row][dlt[row]]), [self.window]])
                heights = np.linspace(0.0, 1.0, len(times))
                shares[row] = np.interp(follow_up[row], times, heights)
        return np.where(dlt, 1.0, shares)

    def next_dose(self, posterior: Posterior, patients: Sequence[Patient]) -> int:
        """Return the dose of the next patient; -1 if overdose control admits none."""
        doses = np.array([[patient.dose for patient in patients]])
        follow_up = np.array([[patient.follow_up for patient in patients]])
        dlt = np.array([[patient.dlt for patient in patients]])
        return int(self._next(posterior, doses, follow_up, dlt)[0])

    def posterior_of(self, posterior: Posterior, patients: Sequence[Patient]) -> FloatArray:
        """Return the posterior probabilities of the points after these patients, (n_points,)."""
        doses = np.array([[patient.dose for patient in patients]])
        follow_up = np.array([[patient.follow_up for patient in patients]])
        dlt = np.array([[patient.dlt for patient in patients]])
        return np.asarray(self._weigh(posterior, doses, follow_up, dlt)[0])

    def _weigh(
        self, posterior: Posterior, doses: IntArray, follow_up: FloatArray, dlt: BoolArray
    ) -> FloatArray:
        """Return the posterior probabilities of the points, (trial, n_points)."""
        weights = self.weights_of(follow_up, dlt)
        complete = weights >= 1.0
        n_trials, n_doses = len(doses), posterior.rates.shape[1]
        counts, events = np.zeros((2, n_trials, n_doses))
        more = np.zeros((n_trials, len(posterior.log_prior)))
        rows = np.arange(n_trials)
        for patient in range(doses.shape[1]):
            given = doses[:, patient]
            counts[rows, given] += complete[:, patient]
            events[rows, given] += dlt[:, patient]
            waiting = np.flatnonzero(~complete[:, patient])
            if len(waiting):
                rates = posterior.rates.T[given[waiting]]
                more[waiting] += np.log1p(-weights[waiting, patient][:, np.newaxis] * rates)
        return posterior.weights(counts, events, more)

    def _next(
        self, posterior: Posterior, doses: IntArray, follow_up: FloatArray, dlt: BoolArray
    ) -> IntArray:
        chosen = np.zeros(len(doses), np.int64)
        for part in posterior.chunks(len(doses)):
            weights = self._weigh(posterior, doses[part], follow_up[part], dlt[part])
            chosen[part] = posterior.choose(weights)
        return np.minimum(chosen, doses[:, -1] + self.largest_step_up)

    def simulate(
        self, model: Any, rates: FloatArray, patients: int, start: int, runs: int, seed: int
    ) -> Played:
        """Simulate trials. The time of a DLT is uniform in the window.

        A trial in which overdose control admits no dose stops, and recommends none.
        """
        posterior = self.setup(model)
        rng = np.random.default_rng(seed)
        tolerance = rng.random((runs, patients))
        gaps = np.full((runs, patients), self.every)
        if self.arrivals == "poisson":
            gaps = rng.exponential(self.every, (runs, patients))
        arrival = np.cumsum(gaps, axis=1)
        delay = self.window * rng.random((runs, patients))
        doses = np.full((runs, patients), start)
        times = np.full((runs, patients), math.inf)  # of DLTs
        going = np.arange(runs)
        n_treated = np.full(runs, patients)
        for patient in range(patients):
            if patient > 0:
                now = arrival[going, patient][:, np.newaxis]
                before = (going, slice(0, patient))
                dlt = times[before] <= now
                follow_up = np.minimum(
                    np.minimum(times[before], now) - arrival[before], self.window
                )
                following = self._next(posterior, doses[before], follow_up, dlt)
                n_treated[going[following < 0]] = patient
                going, following = going[following >= 0], following[following >= 0]
                doses[going, patient] = following
            toxic = tolerance[going, patient] < rates[doses[going, patient]]
            at = arrival[going, patient] + delay[going, patient]
            times[going, patient] = np.where(toxic, at, math.inf)
        took = np.arange(patients) < n_treated[:, np.newaxis]
        toxic = (times < math.inf) & took
        treated, events = np.zeros((2, runs, len(rates)), np.int64)
        for dose in range(len(rates)):
            treated[:, dose] = ((doses == dose) & took).sum(axis=1)
            events[:, dose] = ((doses == dose) & toxic).sum(axis=1)
        wanted = posterior.wishes(treated, events)
        # Only doses that were given are recommended: the nearest one below.
        places = np.arange(len(rates))
        distance = wanted[:, np.newaxis] - places
        cost = np.where(distance >= 0, distance, len(places) - distance)
        chosen = np.where(treated > 0, cost, 3 * len(places)).argmin(axis=1)
        return Played(np.where((wanted < 0) | (n_treated < patients), -1, chosen), treated)


def as_patients(given: Iterable[Sequence[Any]], n_doses: int) -> list[Patient]:
    """Check patients of a trial, each as (dose, follow-up, DLT)."""
    found = []
    for place, one in enumerate(given):
        rule = "be (dose, follow-up, DLT)"
        require(len(one) == 3, f"patients[{place}]", rule, one, PolicyError)
        dose = as_integer(f"patients[{place}] dose", one[0], 0, PolicyError, maximum=n_doses - 1)
        time = float(one[1])
        rule = "have a follow-up of at least 0"
        require(time >= 0.0, f"patients[{place}]", rule, one, PolicyError)
        rule = "have a DLT that is 0 or 1"
        require(one[2] in (0, 1), f"patients[{place}]", rule, one, PolicyError)
        found.append(Patient(dose, time, bool(one[2])))
    return found
