"""The rules of the verdict, each on its own."""

import numpy as np
import pytest

from globalbandits.fitting.assessment.endogeneity import Endogeneity, Slope
from globalbandits.fitting.assessment.forecast import Forecast
from globalbandits.fitting.assessment.held_out_scores import Difference
from globalbandits.fitting.assessment.homogeneity import Homogeneity
from globalbandits.fitting.assessment.time_change import TimeChange
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
        ({"homogeneity": ALIKE}, "elastic", "Elastic(history)",
         "Groups do not differ measurably: 'B' is the best arm for all of them."),
        ({"homogeneity": ALIKE, "share": 0.0}, "elastic", "Elastic(history)",
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
    assert found.sentences[0] == OBSERVATIONAL
    assert found.sentences[1].startswith(first)
    assert len(found.sentences) == (3 if facts.get("homogeneity") is ALIKE else 2)


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
    assert found.sentences[2] == (
        "In 100 rounds of a new group it is expected to lose 20 ± 1 against the group's best arm; "
        "the runner-up, IndependentGittins, loses 10 ± 0 more."
    )


def test_a_better_runner_up_is_reported():
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
    assert found.runner_up == "IndependentGittins"
    assert "expected to lose" not in str(found)


@pytest.mark.parametrize(
    ("n", "ends", "action", "policy"),
    [
        (50, {"wagp": 9.9}, "wagp", "WAGP"),
        (49, {"wagp": 9.9}, "elastic", "Elastic(history)"),
        (50, {"wagp": 10.1}, "elastic", "Elastic(history)"),
        (50, {"fixed": 0.0, "wagp": 10.1}, "elastic", "Elastic(history)"),
    ],
)
def test_curves_are_taken_for_exact_only_if_much_is_won_with_a_large_bias(n, ends, action, policy):
    found = verdict(n=n, forecast=forecast(wagp=5.0), cautious=forecast(**ends))
    assert (found.action, found.policy) == (action, policy)
    assert ("even with a bias at its upper 90 % point" in str(found)) == (action != "elastic")


def test_without_a_cautious_forecast_curves_are_never_taken_for_exact():
    assert verdict(forecast=forecast(wagp=1.0)).action == "elastic"


def test_a_cautious_forecast_is_due_where_little_is_lost():
    assert forecast(wagp=9.0).far_below_elastic("WAGP")
    assert not forecast(wagp=10.0).far_below_elastic("WAGP")
    assert not forecast().far_below_elastic("a policy that was not run")


CHOSEN = Endogeneity(Slope(-0.2, 0.02), Slope(0.3, 0.03), 1e-12, 58, 60)
CHANGE = TimeChange(0.08, 0.01, 1e-9)
DEMAND = "Fitted demand rises with the price."


@pytest.mark.parametrize(
    ("facts", "first"),
    [
        ({"endogeneity": CHOSEN}, "Arms were chosen by what was expected of them: at the same arm"),
        ({"change": CHANGE}, "Rewards change over time: in the last third of the time"),
        ({"wrong_direction": DEMAND}, DEMAND),
        ({"wrong_direction": DEMAND, "endogeneity": CHOSEN, "change": CHANGE}, DEMAND),
    ],
)
def test_doubts_about_the_curves_come_first_and_no_policy_trusts_them(facts, first):
    found = verdict(forecast=forecast(wagp=1.0), cautious=forecast(wagp=1.0), **facts)
    assert found.sentences[0].startswith(first)
    assert (found.action, found.runner_up) == ("elastic", "IndependentGittins")


def test_the_groups_that_contradict_the_comparison_between_groups_are_counted():
    text = str(verdict(endogeneity=CHOSEN))
    assert "groups that used a higher arm had larger rewards (p = 1e-12)" in text
    assert "smaller mean than the lowest in 58 of 60 groups" in text
    assert "fitted from differences inside groups" in text
    assert "Your own curves are kept" in str(verdict(endogeneity=CHOSEN, own_curves=True))
    quiet = CHOSEN._replace(p_value=0.02)
    assert "Arms were chosen" not in str(verdict(endogeneity=quiet))


def test_few_groups_are_named():
    assert "With 49 groups small differences" in str(verdict(n=49, homogeneity=ALIKE))
    assert "With 49 groups, do not rely on" in str(verdict(n=49))
    assert "do not rely" not in str(verdict(n=50))
