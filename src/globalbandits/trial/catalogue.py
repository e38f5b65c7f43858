"""Designs by name: the continual reassessment, its time-to-event form, and the BLRM."""

import dataclasses
import math
from collections.abc import Sequence

from globalbandits._validation import as_float, as_floats, as_positive, require, require_known
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel, RewardModel, dose
from globalbandits.model.inputs import as_levels
from globalbandits.policies import StopWhen
from globalbandits.policies.shared.prior_points import Marginal
from globalbandits.policies.structured.dose_escalation import DoseEscalation
from globalbandits.policies.wrappers.limited import Limited
from globalbandits.trial.design import Design, labelled_model
from globalbandits.trial.tite import TITE

# dfcrm's default.
PRIOR_VARIANCE = 1.34
_PRIORS = ("normal", "exponential")
# Standard deviations of a normal prior inside the domain, with and without a correlation.
_DOMAIN_SDS, _CORRELATED_DOMAIN_SDS = 5.1, 7.2


def crm(
    guesses: Sequence[float],
    target: float,
    *,
    doses: Sequence[str] | None = None,
    patients: int = 36,
    cohort: int = 3,
    start: int = 0,
    intercept: float | None = None,
    prior: str = "normal",
    prior_variance: float = PRIOR_VARIANCE,
    rule: str = "plug_in",
    overdose: tuple[float, float] | None = None,
    elimination: float | None = None,
    stop: StopWhen | None = None,
    cells: int | None = None,
) -> Design:
    """Return a continual reassessment with the restrictions of dfcrm.

    No step up of more than one dose, and none straight after a cohort whose rate of DLTs is at or
    above the target.

    Args:
        guesses: the skeleton.
        target: the target rate of DLTs.
        doses: labels; "dose 1", "dose 2", ... by default.
        patients: the number of patients.
        cohort: the number of patients that are treated at once.
        start: the index of the first dose.
        intercept: the intercept of the logistic model; None for the empiric model.
        prior: ``"normal"``: theta is normal around 0, which is a lognormal prior of the exponent
            exp(theta) of the skeleton; ``"exponential"``: the exponent is exponential with mean 1
            (O'Quigley, Pepe and Fisher 1990).
        prior_variance: the variance of the normal prior.
        rule: ``"plug_in"``: the dose whose rate at the posterior mean of theta is nearest to the
            target; ``"mean"``: the dose whose posterior mean rate is nearest.
        overdose: a rate and a probability: only doses whose rate is above the first with less than
            the second are given (EWOC).
        elimination: doses above the target with this posterior probability under a uniform prior
            are no longer given; 0.95 is usual.
        stop: a rule that ends the trial early. Without a prior it has that of the design.
        cells: points of theta.

    >>> design = crm([0.05, 0.12, 0.25, 0.4], 0.25)
    >>> design.decision_table().to_string().splitlines()[2]
    '0       dose 1  dose 2'
    """
    model, marginals = _crm_model(guesses, target, doses, intercept, prior, prior_variance)
    inner = DoseEscalation(rule=rule, prior=marginals, overdose=overdose, cells=cells)
    policy = Limited(inner, cohort=cohort, start=start, whole_cohorts=True, elimination=elimination)
    return _design(
        model, policy, inner, stop, model.arms, patients=patients, cohort=cohort, start=start
    )


def tite_crm(
    guesses: Sequence[float],
    target: float,
    *,
    window: float,
    every: float,
    arrivals: str = "fixed",
    weights: str = "linear",
    least_follow_up: float = 0.25,
    doses: Sequence[str] | None = None,
    patients: int = 36,
    start: int = 0,
    intercept: float | None = None,
    prior: str = "normal",
    prior_variance: float = PRIOR_VARIANCE,
    rule: str = "plug_in",
    overdose: tuple[float, float] | None = None,
    stop: StopWhen | None = None,
) -> Design:
    """Return a time-to-event continual reassessment: patients in follow-up have weights.

    Args:
        guesses: the skeleton.
        target: the target rate of DLTs.
        window: the time in which a DLT counts, such as 28 days.
        every: the mean time between arrivals, for simulations.
        arrivals: ``"fixed"`` or ``"poisson"``.
        weights: ``"linear"`` or ``"adaptive"``, as in dfcrm's `titecrm`.
        least_follow_up: the share of the window that a patient at the present dose has been
            observed before a step up; 0 as in dfcrm.
        doses: as in `crm`, and all that follow.
        patients: the number of patients.
        start: the index of the first dose.
        intercept: the intercept of the logistic model.
        prior: the kind of the prior.
        prior_variance: the variance of the normal prior.
        rule: the rule of the dose.
        overdose: overdose control.
        stop: a rule that ends the trial early. It uses only outcomes that are known.

    >>> design = tite_crm([0.05, 0.1, 0.2, 0.35], 0.2, window=28, every=14)
    >>> design.next_patient([(0, 28, 0), (0, 14, 0)])
    1
    """
    model, marginals = _crm_model(guesses, target, doses, intercept, prior, prior_variance)
    inner = DoseEscalation(rule=rule, prior=marginals, overdose=overdose)
    tite = TITE(
        escalation=inner,
        window=window,
        every=every,
        arrivals=arrivals,
        weights=weights,
        least_follow_up=least_follow_up,
    )
    return _design(model, tite, inner, stop, model.arms, patients=patients, cohort=1, start=start)


def blrm(
    amounts: Sequence[float],
    target: float,
    *,
    reference: float,
    prior_mean: tuple[float, float],
    prior_sd: tuple[float, float],
    correlation: float = 0.0,
    rule: str = "mean",
    interval: tuple[float, float] | None = None,
    overdose: tuple[float, float] | None = (0.33, 0.25),
    doses: Sequence[str] | None = None,
    patients: int = 36,
    cohort: int = 3,
    start: int = 0,
    largest_step_up: int | None = 1,
    coherent: bool = True,
    elimination: float | None = None,
    stop: StopWhen | None = None,
    cells: int | None = None,
) -> Design:
    """Return a Bayesian logistic regression (Neuenschwander, Branson and Gsponer 2008).

    The log-odds of a DLT are ``log_alpha + exp(log_beta) * log(amount / reference)``, and
    (log_alpha, log_beta) are normal. A trial stops if overdose control admits no dose.

    Args:
        amounts: the doses as numbers, such as milligrams.
        target: the target rate of DLTs.
        reference: the dose at which the log-odds are log_alpha.
        prior_mean: means of log_alpha and log_beta.
        prior_sd: their standard deviations.
        correlation: their correlation.
        rule: ``"mean"``: the dose whose posterior mean rate is nearest to the target;
            ``"interval"``: the dose whose rate is most likely in ``interval``.
        interval: the target interval, such as (0.16, 0.33).
        overdose: a rate and a probability: only doses whose rate is above the first with less than
            the second are given (EWOC); None for no control.
        doses: labels; the amounts by default.
        patients: the number of patients.
        cohort: the number of patients that are treated at once.
        start: the index of the first dose.
        largest_step_up: the largest step up; None for any.
        coherent: no step up straight after a cohort whose rate of DLTs is at or above the target.
        elimination: as in `crm`.
        stop: a rule that ends the trial early. Without a prior it has that of the design.
        cells: points along each of the two numbers.

    >>> design = blrm([10, 20, 40, 80], 0.25, reference=40, prior_mean=(-1, 0), prior_sd=(2, 1))
    >>> design.next_dose([(0, 0)])
    1
    """
    means = as_floats("prior_mean", prior_mean, PolicyError)
    spread = as_floats("prior_sd", prior_sd, PolicyError)
    for name, given in (("prior_mean", means), ("prior_sd", spread)):
        rule_of_two = "have two numbers, of log_alpha and of log_beta"
        require(len(given) == 2, name, rule_of_two, given, PolicyError)
    spread = tuple(as_positive("prior_sd", value, PolicyError) for value in spread)
    reach = _DOMAIN_SDS if correlation == 0.0 else _CORRELATED_DOMAIN_SDS
    ends = [(mean - reach * sd, mean + reach * sd) for mean, sd in zip(means, spread, strict=True)]
    slope = math.exp(ends[1][0]), math.exp(ends[1][1])
    model = dose.logistic(amounts, ends[0], slope=slope, reference=reference, target=target)
    inner = DoseEscalation(
        rule=rule,
        prior=(("normal", means[0], spread[0]), ("lognormal", means[1], spread[1])),
        correlation=correlation,
        overdose=overdose,
        interval=interval,
        cells=cells,
    )
    policy = Limited(
        inner,
        cohort=cohort,
        start=start,
        largest_step_up=largest_step_up,
        no_skipping=largest_step_up is not None,
        coherent=coherent,
        elimination=elimination,
        whole_cohorts=True,
    )
    labels = [f"{amount:g}" for amount in model.arms] if doses is None else doses
    return _design(
        model, policy, inner, stop, labels, patients=patients, cohort=cohort, start=start
    )


def _design(
    model: AnyModel,
    rule: Limited | TITE,
    inner: DoseEscalation,
    stop: StopWhen | None,
    doses: Sequence[str],
    **options: int,
) -> Design:
    """Return the design with labels, and with its prior in the stopping rule."""
    if stop is not None and stop.prior is None:
        stop = dataclasses.replace(stop, prior=inner.prior, correlation=inner.correlation)
    target = model.target
    assert target is not None
    return Design(doses=tuple(doses), target=target, rule=rule, model=model, stop=stop, **options)


def _crm_model(
    guesses: Sequence[float],
    target: float,
    doses: Sequence[str] | None,
    intercept: float | None,
    prior: str,
    prior_variance: float,
) -> tuple[RewardModel, tuple[Marginal, ...]]:
    """Return the model on a domain that holds the prior, and the prior."""
    require_known("prior", prior, _PRIORS, PolicyError)
    sd = math.sqrt(as_positive("prior_variance", prior_variance, PolicyError))
    reach = max(6.0, _DOMAIN_SDS * sd)
    # The logarithm of an exponential number lies in the second domain, but for 1e-6.
    domain = (-reach, reach) if prior == "normal" else (-14.5, 3.5)
    levels = as_levels("guesses", guesses, 0.0, 1.0, "lie strictly between 0 and 1")
    rates = [f"{level!r}**exp(theta)" for level in levels]
    if intercept is not None:
        intercept = as_float("intercept", intercept, PolicyError)
        scaled = [math.log(level / (1.0 - level)) - intercept for level in levels]
        rule = "be above the log-odds of every guess"
        require(max(scaled) < 0.0, "intercept", rule, intercept, PolicyError)
        rates = [f"1 / (1 + exp(-({intercept!r}) - exp(theta)*({x!r})))" for x in scaled]
    labels = [f"dose {number}" for number in range(1, len(levels) + 1)] if doses is None else doses
    rule = f"be {len(levels)} labels, one per guess"
    require(len(labels) == len(levels), "doses", rule, labels, PolicyError)
    model = labelled_model(rates, labels, domain, target)
    if prior == "normal":
        return model, (("normal", 0.0, sd),)
    return model, (("log_exponential", 1.0),)
