"""The rules of the verdict, each on its own."""

import numpy as np
import pytest

from globalbandits.fitting.assessment.forecast import Forecast
from globalbandits.fitting.assessment.homogeneity import Homogeneity
from globalbandits.fitting.assessment.scores import Difference
from globalbandits.fitting.assessment.value_of_information import ValueOfInformation
from globalbandits.fitting.assessment.verdict import (
    OBSERVATIONAL,
    VerdictFacts,
    decide,
)

DIFFER, ALIKE = Homogeneity(900.0, 300, 1e-50), Homogeneity(300.0, 300, 0.5)
CLEAR, UNCLEAR = Difference(1.0, 0.2, 60), Difference(0.1, 0.2, 60)
INFORMATION = ValueOfInformation(2, 0.1, 0.08)


def verdict(n=60, **changes):
    usual = VerdictFacts(DIFFER, 0.8, CLEAR, None, INFORMATION, "B", n)
    return decide(usual._replace(**changes))


def forecast(elastic=20.0, alone=30.0, wagp=60.0, thompson=40.0, fixed=90.0):
    """Regret in 100 rounds, with a spread of 2 over two runs; that of all policies is paired."""
    times = np.array([1, 10, 100])
    ends = {"Elastic(history)": elastic, "IndependentGittins": alone, "WAGP": wagp,
            "ThompsonSampling": thompson}  # fmt: skip
    runs = {name: np.array([[end - 1.0], [end + 1.0]]) * times / 100 for name, end in ends.items()}
    return Forecast(times, runs, "always 'B'", np.full(50, fixed / 100))


@pytest.mark.parametrize(
    ("facts", "action", "policy", "first"),
    [
        ({}, "elastic", "Elastic(history)",
         "One number explains groups that the fit has not seen: deploy Elastic"),
        ({"homogeneity": ALIKE}, "fixed", "always 'B'",
         "Groups do not differ measurably: play 'B'."),
        ({"homogeneity": ALIKE, "share": 0.0}, "fixed", "always 'B'",
         "Groups do not differ measurably"),
        ({"share": 0.0}, "independent", "IndependentGittins",
         "Arms tell nothing about each other: deploy IndependentGittins."),
        ({"score": UNCLEAR}, "independent", "IndependentGittins",
         "Arms tell little about each other: on held-out"),
        ({"score": Difference(float("nan"), float("nan"), 1)}, "independent",
         "IndependentGittins", "Arms tell little"),
    ],
)  # fmt: skip
def test_the_rules_in_their_order(facts, action, policy, first):
    found = verdict(**facts)
    assert (found.action, found.policy) == (action, policy)
    assert found.runner_up == ("IndependentGittins" if action == "elastic" else "Elastic(history)")
    assert found.sentences[0].startswith(first)
    assert found.sentences[-1] == OBSERVATIONAL
    assert len(found.sentences) == (3 if action == "fixed" else 2)


def test_a_number_that_does_not_matter_is_named():
    text = str(verdict(information=ValueOfInformation(2, 0.1, 0.001)))
    assert "For the decision the one number is worth next to nothing: 'B' is best" in text
    assert "next to nothing" not in str(
        verdict(homogeneity=ALIKE, information=ValueOfInformation(2, 0.1, 0.0))
    )
    assert "What can be gained lies in the groups' own errors" in text
    nothing = str(verdict(information=ValueOfInformation(2, 0.0, 0.0)))
    assert "next to nothing" in nothing
    assert "What can be gained" not in nothing


def test_a_reversal_in_time_is_named():
    text = str(verdict(later=Difference(-0.4, 0.1, 60)))
    assert "Time reverses this" in text
    assert "by 0.40 ± 0.10 per group" in text
    assert "Time" not in str(verdict(later=Difference(0.4, 0.1, 60)))


def test_the_figures_are_those_of_the_forecast():
    found = verdict(forecast=forecast())
    assert found.runner_up == "IndependentGittins"
    assert found.sentences[1] == (
        "In 100 rounds of a new group it is expected to lose 20 ± 1 against the group's best arm; "
        "the runner-up, IndependentGittins, loses 10 ± 0 more."
    )


def test_a_runner_up_that_is_better_is_said_to_be():
    found = verdict(forecast=forecast(thompson=15.0))
    assert (found.policy, found.runner_up) == ("Elastic(history)", "ThompsonSampling")
    assert "ThompsonSampling, loses 5 ± 0 less." in str(found)
    assert "Learning every arm for itself loses 10 ± 0 more." in str(found)


def test_with_few_groups_the_runner_up_can_unlearn():
    near = forecast(wagp=21.0, fixed=22.0)
    assert verdict(n=50, forecast=near).runner_up == "WAGP"
    assert verdict(n=49, forecast=near).runner_up == "IndependentGittins"


def test_where_groups_do_not_differ_no_figure_is_given():
    found = verdict(homogeneity=ALIKE, forecast=forecast())
    assert found.runner_up == "Elastic(history)"
    assert "expected to lose" not in str(found)


@pytest.mark.parametrize(
    ("n", "ends", "action", "policy"),
    [
        (50, {"wagp": 9.9}, "wagp", "WAGP"),
        (49, {"wagp": 9.9}, "elastic", "Elastic(history)"),
        (50, {"wagp": 10.1}, "elastic", "Elastic(history)"),
        (50, {"fixed": 9.0, "wagp": 9.5}, "fixed", "always 'B'"),
    ],
)
def test_curves_are_taken_for_exact_only_if_much_is_won_with_a_large_bias(n, ends, action, policy):
    found = verdict(n=n, forecast=forecast(wagp=5.0), cautious=forecast(**ends))
    assert (found.action, found.policy) == (action, policy)
    assert ("even with a bias at its upper 90 % point" in str(found)) == (action != "elastic")


def test_without_a_cautious_forecast_curves_are_never_taken_for_exact():
    assert verdict(forecast=forecast(wagp=1.0)).action == "elastic"


def little_is_lost(found):
    return found.far_below_elastic(["WAGP", found.fixed]) is not None


def test_a_cautious_forecast_is_due_where_little_is_lost():
    assert little_is_lost(forecast(wagp=9.0))
    assert little_is_lost(forecast(fixed=9.0))
    assert not little_is_lost(forecast(wagp=10.0))


def test_few_groups_are_named():
    assert "With 49 groups small differences" in str(verdict(n=49, homogeneity=ALIKE))
    assert "With 49 groups, do not rely on" in str(verdict(n=49))
    assert "do not rely" not in str(verdict(n=50))
