"""What a user should know about a history, beside the numbers."""

from globalbandits.fitting.arms import ArmScale
from globalbandits.fitting.checks import ENOUGH_GROUPS, few_groups
from globalbandits.fitting.factor import MOST_STEPS, climb
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.scoring import Scores, choose_curves, difference
from globalbandits.fitting.theta import tabulate
from globalbandits.fitting.worth import Worth

RESTLESS = 0.1  # a bias scale that moves by more in ten further steps is not settled
MORE_STEPS = 10


def remarks(
    panel: Panel, scale: ArmScale, used: Fitted, final: Fitted, worth: Worth, held_out: Scores
) -> list[str]:
    """All remarks, each one line.

    Args:
        panel: The history.
        scale: Of its arms.
        used: The fit to it.
        final: The fit for the offered arms.
        worth: Of the offered arms.
        held_out: Scores of groups that fits had not seen.
    """
    return [
        *about_rows(panel, scale),
        *about_arms(panel),
        *about_fit(panel, scale, used, final, worth),
        *about_given(held_out),
    ]


def about_rows(panel: Panel, scale: ArmScale) -> list[str]:
    """Rows left out, few groups, groups with one arm, cells with one reward."""
    found = []
    if panel.dropped:
        found.append(f"{panel.dropped} rows without a reward were left out")
    if panel.n_groups < ENOUGH_GROUPS and not scale.ordered:
        found.append(few_groups(panel.n_groups))
    single = int((panel.tried.sum(axis=1) == 1).sum())
    if single:
        found.append(
            f"{single} of {panel.n_groups} groups tried one arm only: "
            "they say nothing about how arms hang together"
        )
    if not panel.binary and panel.counts.max() <= 1:
        found.append(
            "noise and bias cannot be told apart: every group has one reward per arm; "
            "the bias above is an upper bound"
        )
    return found


def about_arms(panel: Panel) -> list[str]:
    """Arms whose rewards were all the same."""
    found = []
    counts, sums = panel.counts.sum(axis=0), panel.sums.sum(axis=0)
    for arm, count, total in zip(panel.arms, counts.tolist(), sums.tolist(), strict=True):
        if panel.binary and total in (0.0, count):
            how, reward = ("never", "lowest") if total == 0 else ("always", "highest")
            found.append(f"arm {arm!r} {how} sold in history: every reward is the {reward}")
    return found


def about_fit(
    panel: Panel, scale: ArmScale, used: Fitted, final: Fitted, worth: Worth
) -> list[str]:
    """Arms that fall or are flat, and a bias that has not settled."""
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
    if used.n_steps >= MOST_STEPS:
        further = climb(panel, scale, used, MORE_STEPS).bias_scale
        if abs(further - used.bias_scale) > RESTLESS * used.bias_scale:
            found.append(
                f"the bias still moves after {used.n_steps} steps, from {used.bias_scale:.3g} "
                f"to {further:.3g}: take it as a rough figure"
            )
    return found


def about_given(held_out: Scores) -> list[str]:
    """How the user's curves did."""
    logs = held_out.log_scores
    if "given" not in logs:
        return []
    against = difference(logs["given"], logs["shared"])
    kept = "kept" if choose_curves(held_out) == "given" else "not kept"
    return [
        f"your curves are {kept}: log score {against.mean:+.2f} ± {against.se:.2f} per group "
        "against the fitted ones"
    ]
