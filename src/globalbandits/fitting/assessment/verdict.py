"""The verdict: rules in a fixed order decide what to deploy, and give the reasons in words."""

from typing import Any, NamedTuple

from globalbandits.fitting.assessment.endogeneity import Endogeneity
from globalbandits.fitting.assessment.forecast import (
    CURVE_TRUSTING,
    ELASTIC_HISTORY,
    INDEPENDENT,
    MIN_GROUPS_TO_TRUST_CURVES,
    WAGP_NAME,
    Forecast,
)
from globalbandits.fitting.assessment.held_out_scores import Difference
from globalbandits.fitting.assessment.homogeneity import Homogeneity
from globalbandits.fitting.assessment.strata import Strata
from globalbandits.fitting.assessment.time_change import TimeChange
from globalbandits.fitting.assessment.value_of_information import ValueOfInformation

NEGLIGIBLE_SHARE = 0.05  # of the value of information
OBSERVATIONAL = (
    "History is observational: if a group's arms followed what it expected at the time, the curves "
    "carry that choice, and no fit can see all of it."
)


class Verdict(NamedTuple):
    """What to deploy, and why."""

    action: str  # "independent", "elastic" or "wagp": a deployed policy always learns
    policy: str  # its name, as in `Fit.regret`
    runner_up: str
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


class VerdictFacts(NamedTuple):
    """What the rules of the verdict use."""

    homogeneity: Homogeneity  # whether groups differ at all
    share: float  # of the differences that one number explains
    score: Difference  # held-out log score beyond every arm for itself
    later: Difference | None  # the same in the last third of the time, if there are times
    information: ValueOfInformation  # about a group
    fixed_arm: Any  # the best arm if nothing is known about a group
    n_groups: int
    forecast: Forecast | None = None  # regret in new groups, if it was simulated
    cautious: Forecast | None = None  # the same with the bias at its 90 % quantile
    arm_name: str = "arm"
    rounds_per_row: float = 1.0  # of the history
    own_curves: bool = False  # whether the user's curves were kept
    wrong_direction: str = ""  # a sentence on demand that rises with the price, or empty
    endogeneity: Endogeneity | None = None  # whether arms were chosen by what was expected
    change: TimeChange | None = None  # of rewards over time, if there are times
    strata: Strata | None = None  # the best arm in strata, if they were asked for


def decide(facts: VerdictFacts) -> Verdict:
    """Apply the rules."""
    action, policy, reasons = _choose(facts)
    runner_up = _runner_up(facts, policy)
    warnings = _warnings(facts)
    sentences = [
        *warnings,
        OBSERVATIONAL,
        *reasons,
        *_regret_sentences(facts, action, policy, runner_up),
    ]
    information, later = facts.information, facts.later
    relevant = action == "elastic" and facts.homogeneity.differ()
    if relevant and information.through <= NEGLIGIBLE_SHARE * information.total:
        gained = " What can be gained lies in the groups' own errors."
        sentences.append(
            f"For the decision the one number is worth next to nothing: {facts.fixed_arm!r} is "
            f"best, or as good as best, whatever it is.{gained if information.total > 0 else ''}"
        )
    strata = facts.strata
    if strata is not None and not strata.differ:
        same = all(part.best in (None, facts.fixed_arm) for part in strata.parts)
        said = "the best arm is the same" if same else "no other arm is clearly better"
        sentences.append(f"Within strata of {' and '.join(strata.columns)} {said}.")
    if later is not None and later.mean < 0 < facts.score.mean:
        sentences.append(
            "Time reverses this: in the last third of the time every arm for itself does "
            f"better, by {-later.mean:.2f} ± {later.se:.2f} per group."
        )
    if facts.n_groups < MIN_GROUPS_TO_TRUST_CURVES and not facts.homogeneity.differ():
        sentences.append(f"With {facts.n_groups} groups small differences stay unseen.")
    elif facts.n_groups < MIN_GROUPS_TO_TRUST_CURVES:
        sentences.append(
            f"With {facts.n_groups} groups, do not rely on policies that cannot unlearn a curve "
            "(WAGP, IDS, a fixed arm): their forecasts are often wrong by a factor of three."
        )
    return Verdict(action, policy, runner_up, tuple(sentences))


def _choose(facts: VerdictFacts) -> tuple[str, str, list[str]]:
    """Return action, policy and reasons."""
    if not facts.homogeneity.differ():
        reasons = [
            f"Groups do not differ measurably: {facts.fixed_arm!r} is the best arm for all of "
            "them.",
            "Deploy Elastic with the bias that history shows: it plays this arm, and learns if a "
            "new group differs. A fixed arm would never notice.",
        ]
        return "elastic", ELASTIC_HISTORY, reasons
    if facts.share == 0.0:
        text = "Arms tell nothing about each other: deploy IndependentGittins."
        return "independent", INDEPENDENT, [text]
    if not facts.score.clear:
        text = (
            "Arms tell little about each other: on held-out groups one number does not do "
            "better than every arm for itself. Deploy IndependentGittins."
        )
        return "independent", INDEPENDENT, [text]
    trusted = facts.n_groups >= MIN_GROUPS_TO_TRUST_CURVES and not _doubtful(facts)
    if trusted and facts.cautious is not None and facts.cautious.far_below_elastic(WAGP_NAME):
        text = (
            f"Curves are so nearly exact that {WAGP_NAME} loses less than half of what Elastic "
            f"does, even with a bias at its upper 90 % point: deploy {WAGP_NAME}."
        )
        return "wagp", WAGP_NAME, [text]
    text = (
        "One number explains groups that the fit has not seen: deploy Elastic with the "
        "bias that history shows."
    )
    return "elastic", ELASTIC_HISTORY, [text]


def _doubtful(facts: VerdictFacts) -> bool:
    """Whether there is a reason to expect that the curves do not hold in a new group."""
    chosen = facts.endogeneity is not None and facts.endogeneity.found
    changing = facts.change is not None and facts.change.found
    mixed = facts.strata is not None and facts.strata.differ
    return chosen or changing or mixed or bool(facts.wrong_direction)


def _warnings(facts: VerdictFacts) -> list[str]:
    """Say first what makes the curves doubtful."""
    found, name = [facts.wrong_direction] if facts.wrong_direction else [], facts.arm_name
    chosen, change = facts.endogeneity, facts.change
    if chosen is not None and chosen.found:
        fitted = "The curves are therefore fitted from differences inside groups."
        if facts.own_curves:
            fitted = "Your own curves are kept."
        more = "larger" if chosen.choice.value > 0 else "smaller"
        found.append(
            f"Arms were chosen by what was expected of them: at the same {name}, groups that used "
            f"a higher {name} had {more} rewards (p = {chosen.p_value:.1g}). {fitted} The highest "
            f"{name} tried had a smaller mean than the lowest in {chosen.falling} of "
            f"{chosen.compared} groups."
        )
    strata = facts.strata
    if strata is not None and strata.differ:
        said = ", ".join(
            f"{part.best!r} where {strata.describe(part)}"
            for part in strata.parts
            if part.best is not None
        )
        found.append(
            f"The best arm within strata of {' and '.join(strata.columns)} is not that of all "
            f"rows, {facts.fixed_arm!r}: it is {said}. Fit the rows of the stratum in which you "
            "will decide."
        )
    if change is not None and change.found:
        found.append(
            "Rewards change over time: in the last third of the time, the same arm of the same "
            f"group gives {abs(change.mean):.3g} ± {change.se:.2g} "
            f"{'more' if change.mean >= 0 else 'less'} than before (p = {change.p_value:.1g}). "
            "Curves and forecast describe an average of the past; use Elastic(drift=True) if the "
            "change goes on."
        )
    return found


def _runner_up(facts: VerdictFacts, policy: str) -> str:
    """Return the best of the other policies; with few groups only one that can unlearn a curve."""
    if facts.forecast is None or not facts.homogeneity.differ():
        return INDEPENDENT if policy == ELASTIC_HISTORY else ELASTIC_HISTORY
    few = facts.n_groups < MIN_GROUPS_TO_TRUST_CURVES or _doubtful(facts)
    left_out = {policy, *((*CURVE_TRUSTING, facts.forecast.fixed) if few else ())}
    return next(name for name in facts.forecast.means if name not in left_out)


def _regret_sentences(facts: VerdictFacts, action: str, policy: str, runner_up: str) -> list[str]:
    """Say what is lost in a new group. A forecast has no meaning if groups do not differ."""
    forecast = facts.forecast
    if forecast is None or not facts.homogeneity.differ():
        return []
    end, error = forecast.means[policy][-1], forecast.errors[policy][-1]
    behind = forecast.beyond(runner_up, policy)
    found = [
        f"In {_duration(facts)} of a new group it is expected to lose {end:.3g} ± "
        f"{error:.2g} against the group's best arm; the runner-up, {runner_up}, loses "
        f"{_more_or_less(behind)}."
    ]
    if action in ("elastic", "wagp") and runner_up != INDEPENDENT and INDEPENDENT in forecast.means:
        alone = forecast.beyond(INDEPENDENT, policy)
        found.append(f"Learning every arm for itself loses {_more_or_less(alone)}.")
    return found


def _duration(facts: VerdictFacts) -> str:
    """Return the simulated time, in the unit of the history."""
    assert facts.forecast is not None
    horizon = facts.forecast.horizon
    if facts.rounds_per_row == 1.0:
        return f"{horizon} rounds"
    return f"{horizon / facts.rounds_per_row:.3g} rows ({horizon} trials)"


def _more_or_less(found: Difference) -> str:
    return f"{abs(found.mean):.3g} ± {found.se:.2g} {'more' if found.mean >= 0 else 'less'}"
