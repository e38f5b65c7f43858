"""The rules of the verdict, each on its own."""

import pytest

from globalbandits.fitting.homogeneity import Homogeneity
from globalbandits.fitting.knowing import Knowing
from globalbandits.fitting.scoring import Difference
from globalbandits.fitting.verdict import OBSERVATIONAL, decide

DIFFER, ALIKE = Homogeneity(900.0, 300, 1e-50), Homogeneity(300.0, 300, 0.5)
CLEAR, UNCLEAR = Difference(1.0, 0.2, 60), Difference(0.1, 0.2, 60)
KNOWING = Knowing(2, 0.1, 0.08)


def verdict(homogeneity=DIFFER, share=0.8, score=CLEAR, later=None, knowing=KNOWING, n=60):
    return decide(homogeneity, share, score, later, knowing, "B", n)


@pytest.mark.parametrize(
    ("facts", "action", "first"),
    [
        ({}, "elastic", "One number explains groups that the fit has not seen: deploy Elastic"),
        ({"homogeneity": ALIKE}, "fixed", "Groups do not differ measurably: play 'B'."),
        ({"homogeneity": ALIKE, "share": 0.0}, "fixed", "Groups do not differ measurably"),
        ({"share": 0.0}, "independent",
         "Arms tell nothing about each other: deploy IndependentGittins."),
        ({"score": UNCLEAR}, "independent", "Arms tell little about each other: on held-out"),
        ({"score": Difference(float("nan"), float("nan"), 1)}, "independent", "Arms tell little"),
    ],
)  # fmt: skip
def test_the_rules_in_their_order(facts, action, first):
    found = verdict(**facts)
    assert found.action == action
    assert found.sentences[0].startswith(first)
    assert found.sentences[1:] == (OBSERVATIONAL,)


def test_a_number_that_does_not_matter_is_named():
    text = str(verdict(knowing=Knowing(2, 0.1, 0.001)))
    assert "For the decision the one number is worth next to nothing: 'B' is best" in text
    assert "next to nothing" not in str(verdict(homogeneity=ALIKE, knowing=Knowing(2, 0.1, 0.0)))


def test_a_reversal_in_time_is_named():
    text = str(verdict(later=Difference(-0.4, 0.1, 60)))
    assert "Time reverses this" in text
    assert "by 0.40 ± 0.10 per group" in text
    assert "Time" not in str(verdict(later=Difference(0.4, 0.1, 60)))


def test_few_groups_are_named():
    assert "With 49 groups, do not rely on" in str(verdict(n=49))
    assert "do not rely" not in str(verdict(n=50))
