"""`check_policy`: every rule of the contract, and a line for each one that is broken."""

from typing import TYPE_CHECKING

from globalbandits._validation import require
from globalbandits.errors import ContractError, PolicyError
from globalbandits.policies.base import Policy
from globalbandits.testing.rules import CONTRACT
from globalbandits.testing.subject import Broken, Subject, default_model

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def check_policy(policy: Policy, model: "RewardModel | None" = None) -> None:
    """Check that a policy keeps the rules that learners and the simulator rely on.

    The rules are those of `CONTRACT`: a spec that survives JSON, decisions that depend on
    nothing but the data and the generator, the same bits compiled and interpreted, forgetting,
    merging and restoring that leave no trace, ties, extreme rewards, one arm, ten thousand
    arms, explanations, arms ranked by what they are worth, and no access outside an array
    whatever the rewards are. A policy may refuse a model with a PolicyError that says why, and
    may set ``ignores_value = True`` if it does not rank arms by worth.

    Args:
        policy: the policy, with parameters that suit the model.
        model: the model to check it on; by default five prices with a linear-power demand.

    Raises:
        ContractError: with one line for each broken rule.

    >>> from globalbandits.policies import WAGP
    >>> check_policy(WAGP())
    """
    require(isinstance(policy, Policy), "policy", "be a Policy", policy, PolicyError)
    subject = Subject(policy, default_model() if model is None else model)
    broken = []
    for name, rule in CONTRACT.items():
        try:
            rule(subject)
        except Broken as error:
            broken.append(f"- {name}: {error}")
        except Exception as error:
            broken.append(f"- {name}: raised {type(error).__name__}: {error}")
    if broken:
        lines = "\n".join(broken)
        raise ContractError(f"{policy.label} breaks {len(broken)} rules of policies:\n{lines}")
