"""Notes: further facts about a history and its fit, one line each."""

from globalbandits.fitting.assessment.held_out_scores import Scores, choose_curves, difference
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.curve_model import tabulate
from globalbandits.fitting.estimation.factor_model import MAX_STEPS, run_em
from globalbandits.fitting.estimation.fitted_population import FittedPopulation
from globalbandits.fitting.estimation.offered_arms import ArmScale
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.panel_checks import MIN_GROUPS_WITHOUT_ORDER, few_groups_warning

# A fit that used all its steps is continued by a few; the bias must not change by more than this.
FURTHER_STEPS = 10
MAX_RELATIVE_BIAS_CHANGE = 0.1
NOTABLE_DISPERSION = 1.2  # of rows with trials


def write_notes(
    panel: Panel,
    scale: ArmScale,
    used: FittedPopulation,
    final: FittedPopulation,
    worth: Worth,
    held_out: Scores,
) -> list[str]:
    """Return all notes, each one line.

    Args:
        panel: The history.
        scale: The places of its arms.
        used: The fit to it.
        final: The fit for the offered arms.
        worth: The worth of the offered arms.
        held_out: Scores of groups that the fits had not seen.
    """
    return [
        *notes_on_history(panel, scale),
        *notes_on_fit(panel, scale, used, final, worth),
        *notes_on_given_curves(held_out),
    ]


def notes_on_history(panel: Panel, scale: ArmScale) -> list[str]:
    """Note dropped rows, few groups, groups with one arm, single rewards and constant rewards."""
    found = []
    if panel.dropped:
        found.append(f"{panel.dropped} rows without a reward were left out")
    if panel.n_groups < MIN_GROUPS_WITHOUT_ORDER and not scale.ordered:
        found.append(few_groups_warning(panel.n_groups))
    if panel.unbounded:
        found.append(
            f"rewards have no highest value: the model ends at {panel.reward_range[1]:g}, four "
            "times the largest; reward_range=(low, high) sets another end"
        )
    if panel.dispersion > NOTABLE_DISPERSION:
        found.append(
            f"rows of the same group and {panel.arm_name} vary {panel.dispersion:.1f} times as "
            "much as single trials would: that many trials count as one"
        )
    single = int((panel.tried.sum(axis=1) == 1).sum())
    if single:
        found.append(
            f"{single} of {panel.n_groups} groups tried one arm only: "
            "they say nothing about how arms are related"
        )
    if not panel.binary and panel.counts.max() <= 1:
        found.append(
            "noise and bias cannot be told apart: every group has one reward per arm; "
            "the bias above is an upper bound"
        )
    counts, sums = panel.counts.sum(axis=0), panel.sums.sum(axis=0)
    for arm, count, total in zip(panel.arms, counts.tolist(), sums.tolist(), strict=True):
        if panel.binary and total in (0.0, count):
            how, reward = ("never", "lowest") if total == 0 else ("always", "highest")
            found.append(f"arm {arm!r} {how} sold in history: every reward is the {reward}")
    return found


def notes_on_fit(
    panel: Panel, scale: ArmScale, used: FittedPopulation, final: FittedPopulation, worth: Worth
) -> list[str]:
    """Note arms with a falling value, flat arms, and a bias that has not converged."""
    found = [
        f"value of arm {arm!r} is negative: it is worth less the higher its mean is"
        for arm in worth.falling()
    ]
    if not final.given:
        found += [
            f"arm {arm!r} is flat: its mean hardly depends on the group, so it tells nothing"
            for arm, flat in zip(worth.arms, tabulate(final).flat, strict=True)
            if flat
        ]
    if used.n_steps >= MAX_STEPS:
        further = run_em(panel, scale, used, FURTHER_STEPS).bias_scale
        if abs(further - used.bias_scale) > MAX_RELATIVE_BIAS_CHANGE * used.bias_scale:
            found.append(
                f"the bias still moves after {used.n_steps} steps, from {used.bias_scale:.3g} "
                f"to {further:.3g}: take it as a rough figure"
            )
    return found


def notes_on_given_curves(held_out: Scores) -> list[str]:
    """Note the log score of the user's own curves."""
    logs = held_out.log_scores
    if "given" not in logs:
        return []
    against = difference(logs["given"], logs["shared"])
    kept = "kept" if choose_curves(held_out) == "given" else "not kept"
    return [
        f"your curves are {kept}: log score {against.mean:+.2f} ± {against.se:.2f} per group "
        "against the fitted ones"
    ]
