"""`TITE`: the time-to-event continual reassessment, with weights for patients in follow-up.

Cheung and Chappell (2000). A patient without a DLT after a part w of the observation window has the
likelihood ``1 - w * rate``. A patient with a DLT, and one whose window is over, has the full
likelihood. So a patient can be treated at any time, without waiting for outcomes.

`TITE.policy` conducts one trial. The functions here compute many trials at once.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, as_positive, require, require_known
from globalbandits.errors import PolicyError
from globalbandits.policies.structured.cohort_design import NO_DOSE
from globalbandits.policies.structured.dose_escalation import DoseEscalation, Posterior
from globalbandits.policies.wrappers.limited import Limited

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
    codes: IntArray  # (run,) why trials ended


@dataclasses.dataclass(frozen=True, kw_only=True)
class TITE:
    """The time-to-event continual reassessment method (TITE-CRM).

    A patient is treated on arrival. The dose is at most ``largest_step_up`` above that of the
    previous patient, as in dfcrm's `titesim`. It is not above it if a DLT was reported since, or if
    no patient at that dose has been observed for ``least_follow_up``.

    Args:
        escalation: the prior, and the rule of the dose.
        window: the time in which a DLT counts, in a unit of yours, such as days.
        every: the mean time between arrivals, for simulations.
        arrivals: ``"fixed"`` or ``"poisson"``.
        weights: ``"linear"``: the share of the window; ``"adaptive"``: by the times of the DLTs so
            far.
        largest_step_up: the largest step up from the previous patient's dose.
        coherent: no step up straight after the report of a DLT.
        least_follow_up: the share of the window that a patient at the present dose has been
            observed before a step up, unless an outcome there is known. 0 for none, as in dfcrm.
    """

    escalation: DoseEscalation
    window: float
    every: float
    arrivals: str = "fixed"
    weights: str = "linear"
    largest_step_up: int = 1
    coherent: bool = True
    least_follow_up: float = 0.25

    def __post_init__(self) -> None:
        valid = isinstance(self.escalation, DoseEscalation)
        require(valid, "escalation", "be a DoseEscalation", self.escalation, PolicyError)
        checked: dict[str, Any] = {
            "window": as_positive("window", self.window, PolicyError),
            "every": as_positive("every", self.every, PolicyError),
            "arrivals": require_known("arrivals", self.arrivals, ARRIVALS, PolicyError),
            "weights": require_known("weights", self.weights, SCHEMES, PolicyError),
            "largest_step_up": as_integer("largest_step_up", self.largest_step_up, 1, PolicyError),
        }
        rule = "lie in [0, 1]"
        share = as_float("least_follow_up", self.least_follow_up, PolicyError)
        require(0.0 <= share <= 1.0, "least_follow_up", rule, share, PolicyError)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def policy(self, start: int = 0) -> Limited:
        """Return the policy that conducts a trial.

        Its learner needs the weights of patients in follow-up, see `Learner.set_pending`. The
        service computes them from a law of the delay.
        """
        return Limited(
            self.escalation,
            cohort=1,
            wait_for=0,
            start=start,
            largest_step_up=self.largest_step_up,
            no_skipping=False,
            coherent=self.coherent,
            least_weight=self.least_follow_up,
        )

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

    def next_dose(self, posterior: Posterior, patients: Sequence[Patient], recent: bool) -> int:
        """Return the dose of the next patient; `NO_DOSE` if overdose control admits none.

        Args:
            posterior: from `setup`.
            patients: the patients so far, in the order of their arrival.
            recent: whether a DLT was reported since the last of them arrived.
        """
        return int(self._next(posterior, *_columns(patients), np.array([recent]))[0])

    def known(self, patients: Sequence[Patient], n_doses: int) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of known outcomes and of DLTs by dose, shape (1, dose)."""
        doses, follow_up, dlt = _columns(patients)
        return _count(doses, dlt | (follow_up >= self.window), dlt, n_doses)

    def posterior_of(self, posterior: Posterior, patients: Sequence[Patient]) -> FloatArray:
        """Return the posterior probabilities of the points after these patients, (n_points,)."""
        return np.asarray(self._weigh(posterior, *_columns(patients))[0])

    def _weigh(
        self, posterior: Posterior, doses: IntArray, follow_up: FloatArray, dlt: BoolArray
    ) -> FloatArray:
        """Return the posterior probabilities of the points, (trial, n_points)."""
        weights = self.weights_of(follow_up, dlt)
        complete = weights >= 1.0
        counts, events = _count(doses, complete, dlt, posterior.rates.shape[1])
        more = np.zeros((len(doses), len(posterior.log_prior)))
        for patient in range(doses.shape[1]):
            waiting = np.flatnonzero(~complete[:, patient])
            if len(waiting):
                rates = posterior.rates.T[doses[waiting, patient]]
                more[waiting] += np.log1p(-weights[waiting, patient][:, np.newaxis] * rates)
        return posterior.weights(counts, events, more)

    def _next(
        self,
        posterior: Posterior,
        doses: IntArray,
        follow_up: FloatArray,
        dlt: BoolArray,
        recent: BoolArray,
    ) -> IntArray:
        chosen = np.zeros(len(doses), np.int64)
        for part in posterior.chunks(len(doses)):
            weights = self._weigh(posterior, doses[part], follow_up[part], dlt[part])
            chosen[part] = posterior.choose(weights)
        last = doses[:, -1:]
        seen = self.weights_of(follow_up, dlt) >= self.least_follow_up
        is_early = ~(seen & (doses == last)).any(axis=1)
        steps = np.where((recent & self.coherent) | is_early, 0, self.largest_step_up)
        return np.minimum(chosen, last[:, 0] + steps)

    def simulate(
        self,
        model: Any,
        rates: FloatArray,
        patients: int,
        start: int,
        runs: int,
        seed: int,
        reasons: Callable[[FloatArray, FloatArray, IntArray], IntArray],
        without_dose: Sequence[int],
    ) -> Played:
        """Simulate trials. The time of a DLT is uniform in the window.

        Args:
            model: the dose model.
            rates: the true rates.
            patients: the largest number of patients.
            start: the first dose.
            runs: the number of trials.
            seed: the seed.
            reasons: why trials end, of known outcomes and DLTs by dose, and the next doses; 0 to
                continue.
            without_dose: reasons after which no dose is recommended.
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
        n_treated, codes = np.full(runs, patients), np.zeros(runs, np.int64)
        for patient in range(patients):
            if patient > 0:
                now = arrival[going, patient][:, np.newaxis]
                before = (going, slice(0, patient))
                dlt = times[before] <= now
                follow_up = np.minimum(
                    np.minimum(times[before], now) - arrival[before], self.window
                )
                recent = (dlt & (times[before] > arrival[going, patient - 1, np.newaxis])).any(1)
                following = self._next(posterior, doses[before], follow_up, dlt, recent)
                known = dlt | (follow_up >= self.window)
                codes[going] = reasons(*_count(doses[before], known, dlt, len(rates)), following)
                goes_on = codes[going] == 0
                n_treated[going[~goes_on]] = patient
                going, following = going[goes_on], following[goes_on]
                doses[going, patient] = following
            toxic = tolerance[going, patient] < rates[doses[going, patient]]
            at = arrival[going, patient] + delay[going, patient]
            times[going, patient] = np.where(toxic, at, math.inf)
        took = np.arange(patients) < n_treated[:, np.newaxis]
        toxic = (times < math.inf) & took
        treated, events = (part.astype(np.int64) for part in _count(doses, took, toxic, len(rates)))
        wanted = posterior.wishes(treated, events)
        # Only doses that were given are recommended: the nearest one below.
        places = np.arange(len(rates))
        distance = wanted[:, np.newaxis] - places
        cost = np.where(distance >= 0, distance, len(places) - distance)
        chosen = np.where(treated > 0, cost, 3 * len(places)).argmin(axis=1)
        none = (wanted < 0) | np.isin(codes, without_dose)
        return Played(np.where(none, NO_DOSE, chosen), treated, codes)


def _count(
    doses: IntArray, known: BoolArray, dlt: BoolArray, n_doses: int
) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of known outcomes and of DLTs, shape (trial, dose)."""
    counts, events = np.zeros((2, len(doses), n_doses))
    for dose in range(n_doses):
        here = doses == dose
        counts[:, dose] = (here & known).sum(axis=1)
        events[:, dose] = (here & dlt).sum(axis=1)
    return counts, events


def _columns(patients: Sequence[Patient]) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return doses, follow-up and DLTs as one trial, shape (1, patient)."""
    doses, follow_up, dlt = (np.array([column]) for column in zip(*patients, strict=True))
    return doses, follow_up, dlt


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
