"""Statements of the form "A outperforms B", judged on paired differences of runs."""

from collections.abc import Mapping

from globalbandits._types import FloatArray
from globalbandits.errors import ScenarioError
from globalbandits.experiments.entries import Entry
from globalbandits.experiments.measuring import measured
from globalbandits.experiments.specs import Spec


def differences(
    spec: Spec, regrets: Mapping[str, FloatArray], suffix: str = ""
) -> dict[str, Entry]:
    """The entries ``a_minus_b<suffix>`` that the spec makes statements about.

    Runs are paired: every policy meets the same rewards in the same run, so the difference
    has a smaller error than the two numbers.

    Args:
        spec: the experiment; its statements are named after two of its policies.
        regrets: regret at the horizon by policy, shape (runs,).
        suffix: the end of the names of the statements to judge.
    """
    entries = {}
    for key, claim in spec.claims.items():
        if not claim.statement or "_minus_" not in key or not key.endswith(suffix):
            continue
        worse, _, better = key.removesuffix(suffix).partition("_minus_")
        if worse not in regrets or better not in regrets:
            raise ScenarioError(
                f"statements.{key} must name two of {', '.join(regrets)}, got {worse} and {better}"
            )
        label = f"{spec.policies[worse].label} - {spec.policies[better].label}"
        entries[key] = measured(spec, key, regrets[worse] - regrets[better], label=label)
    return entries
