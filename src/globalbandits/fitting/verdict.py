"""What to do, in words: rules in a fixed order, each with its reason."""

from typing import Any, NamedTuple

from globalbandits.fitting.candidates import ALONE, BELIEVER, ELASTIC, STUBBORN
from globalbandits.fitting.forecast import Forecast, always_name
from globalbandits.fitting.homogeneity import Homogeneity
from globalbandits.fitting.knowing import Knowing
from globalbandits.fitting.scoring import Difference

TRUSTED_GROUPS = 50
NEXT_TO_NOTHING = 0.05  # of what knowing the group is worth
MUCH_LESS = 0.5  # of Elastic's regret: what a policy that cannot unlearn has to stay below
OBSERVATIONAL = (
    "History is observational: if arms were chosen by what was expected of them, the curves "
    "carry that choice, and no fit can see it."
)


class Verdict(NamedTuple):
    """What to deploy, and why."""

    action: str  # "fixed", "independent", "elastic" or "wagp"
    policy: str  # its name, as in `Fit.regret`
    runner_up: str
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


class Facts(NamedTuple):
    """What the rules ask for."""

    homogeneity: Homogeneity  # whether groups differ at all
    share: float  # how much of the difference one number explains
    score: Difference  # held-out log score beyond every arm for itself
    later: Difference | None  # the same in the last third of the time, if it was asked for
    knowing: Knowing  # what knowing the group is worth
    fixed_arm: Any  # the best one if nothing is known about a group
    n_groups: int
    forecast: Forecast | None = None  # regret in new groups, if it was simulated
    cautious: Forecast | None = None  # the same with the bias at its upper 90 % point


def decide(facts: Facts) -> Verdict:
    """Apply the rules."""
    action, policy, reasons = _choose(facts)
    runner_up = _runner_up(facts, policy)
    sentences = [*reasons, *_figures(facts, action, policy, runner_up)]
    through_errors = facts.knowing.through <= NEXT_TO_NOTHING * facts.knowing.total
    if action == "elastic" and through_errors:
        gained = " What can be gained lies in the groups' own errors."
        sentences.append(
            f"For the decision the one number is worth next to nothing: {facts.fixed_arm!r} is "
            f"best, or as good as best, whatever it is.{gained if facts.knowing.total > 0 else ''}"
        )
    later = facts.later
    if later is not None and later.mean < 0 < facts.score.mean:
        sentences.append(
            "Time reverses this: in the last third of the time every arm for itself does "
            f"better, by {-later.mean:.2f} ± {later.se:.2f} per group."
        )
    if facts.n_groups < TRUSTED_GROUPS and action == "fixed":
        sentences.append(f"With {facts.n_groups} groups small differences stay unseen.")
    elif facts.n_groups < TRUSTED_GROUPS:
        sentences.append(
            f"With {facts.n_groups} groups, do not rely on policies that cannot unlearn a curve "
            "(WAGP, IDS, a fixed arm): what is predicted for them is often wrong by a factor "
            "of three."
        )
    return Verdict(action, policy, runner_up, (*sentences, OBSERVATIONAL))


def _choose(facts: Facts) -> tuple[str, str, list[str]]:
    """Action, policy and reason."""
    always = always_name(facts.fixed_arm)
    if not facts.homogeneity.differ():
        return (
            "fixed",
            always,
            [
                f"Groups do not differ measurably: play {facts.fixed_arm!r}.",
                f"If you expect a new group to differ after all, take {ELASTIC}.",
            ],
        )
    if facts.share == 0.0:
        text = "Arms tell nothing about each other: deploy IndependentGittins."
        return "independent", ALONE, [text]
    if not facts.score.clear:
        text = (
            "Arms tell little about each other: on held-out groups one number does not do "
            "better than every arm for itself. Deploy IndependentGittins."
        )
        return "independent", ALONE, [text]
    exact = _nearly_exact(facts, always)
    if exact is not None:
        text = (
            f"Curves are so nearly exact that {exact} loses less than half of what Elastic does, "
            f"even with a bias at its upper 90 % point: deploy {exact}."
        )
        return ("wagp" if exact == BELIEVER else "fixed"), exact, [text]
    text = (
        "One number explains groups that the fit has not seen: deploy Elastic with the "
        "bias that history shows."
    )
    return "elastic", ELASTIC, [text]


def may_be_exact(forecast: Forecast) -> bool:
    """Whether WAGP or the best fixed arm loses so little that a cautious forecast is due."""
    return _far_below(forecast, [BELIEVER, forecast.fixed]) is not None


def _nearly_exact(facts: Facts, always: str) -> str | None:
    """WAGP or the fixed arm, where there are enough groups to trust them."""
    if facts.cautious is None or facts.n_groups < TRUSTED_GROUPS:
        return None
    return _far_below(facts.cautious, [BELIEVER, always])


def _far_below(forecast: Forecast, names: list[str]) -> str | None:
    """The one of some policies that loses least, if that is below half of what Elastic loses."""
    ends = {name: float(forecast.means[name][-1]) for name in names if name in forecast.means}
    if not ends or ELASTIC not in forecast.means:
        return None
    least = min(ends, key=lambda name: ends[name])
    return least if ends[least] < MUCH_LESS * float(forecast.means[ELASTIC][-1]) else None


def _runner_up(facts: Facts, policy: str) -> str:
    """The best of the others; with few groups only one that can unlearn a curve."""
    if facts.forecast is None or not facts.homogeneity.differ():
        return ALONE if policy == ELASTIC else ELASTIC
    few = facts.n_groups < TRUSTED_GROUPS
    left_out = {policy, *((*STUBBORN, facts.forecast.fixed) if few else ())}
    return next(name for name in facts.forecast.means if name not in left_out)


def _figures(facts: Facts, action: str, policy: str, runner_up: str) -> list[str]:
    """What is lost in a new group; where groups do not differ a forecast says nothing."""
    forecast = facts.forecast
    if forecast is None or not facts.homogeneity.differ():
        return []
    end, error = forecast.means[policy][-1], forecast.errors[policy][-1]
    behind = forecast.beyond(runner_up, policy)
    found = [
        f"In {forecast.horizon} rounds of a new group it is expected to lose {end:.3g} ± "
        f"{error:.2g} against the group's best arm; the runner-up, {runner_up}, loses "
        f"{_more_or_less(behind)}."
    ]
    if action in ("elastic", "wagp") and runner_up != ALONE and ALONE in forecast.means:
        alone = forecast.beyond(ALONE, policy)
        found.append(f"Learning every arm for itself loses {_more_or_less(alone)}.")
    return found


def _more_or_less(found: Difference) -> str:
    return f"{abs(found.mean):.3g} ± {found.se:.2g} {'more' if found.mean >= 0 else 'less'}"
