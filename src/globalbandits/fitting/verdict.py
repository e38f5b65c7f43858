"""What to do, in words: rules in a fixed order, each with its reason."""

from typing import Any, NamedTuple

from globalbandits.fitting.homogeneity import Homogeneity
from globalbandits.fitting.knowing import Knowing
from globalbandits.fitting.scoring import Difference

TRUSTED_GROUPS = 50
NEXT_TO_NOTHING = 0.05  # of what knowing the group is worth
OBSERVATIONAL = (
    "History is observational: if arms were chosen by what was expected of them, the curves "
    "carry that choice, and no fit can see it."
)


class Verdict(NamedTuple):
    """What to deploy, and why."""

    action: str  # "fixed", "independent" or "elastic"
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def decide(
    homogeneity: Homogeneity,
    share: float,
    score: Difference,
    later: Difference | None,
    knowing: Knowing,
    fixed_arm: Any,
    n_groups: int,
) -> Verdict:
    """Apply the rules.

    Args:
        homogeneity: Whether groups differ at all.
        share: How much of the difference one number explains.
        score: Held-out log score beyond every arm for itself.
        later: The same in the last third of the time, if it was asked for.
        knowing: What knowing the group is worth.
        fixed_arm: The arm that is best if nothing is known about a group.
        n_groups: Groups with rewards.
    """
    if not homogeneity.differ():
        action = "fixed"
        sentences = [f"Groups do not differ measurably: play {fixed_arm!r}."]
    elif share == 0.0:
        action = "independent"
        sentences = ["Arms tell nothing about each other: deploy IndependentGittins."]
    elif not score.clear:
        action = "independent"
        sentences = [
            "Arms tell little about each other: on held-out groups one number does not do "
            "better than every arm for itself. Deploy IndependentGittins."
        ]
    else:
        action = "elastic"
        sentences = [
            "One number explains groups that the fit has not seen: deploy Elastic with the "
            "bias that history shows."
        ]
    if action == "elastic" and knowing.through <= NEXT_TO_NOTHING * knowing.total:
        sentences.append(
            f"For the decision the one number is worth next to nothing: {fixed_arm!r} is best, or "
            "as good as best, whatever it is. What can be gained lies in the groups' own errors."
        )
    if later is not None and later.mean < 0 < score.mean:
        sentences.append(
            "Time reverses this: in the last third of the time every arm for itself does "
            f"better, by {-later.mean:.2f} ± {later.se:.2f} per group."
        )
    if n_groups < TRUSTED_GROUPS:
        sentences.append(
            f"With {n_groups} groups, do not rely on policies that cannot unlearn a curve (WAGP, "
            "a fixed arm): what is predicted for them is often wrong by a factor of three."
        )
    return Verdict(action, (*sentences, OBSERVATIONAL))
