"""What a notebook shows of each object: HTML that a parser accepts, with the numbers in it."""

from html.parser import HTMLParser

import pytest

import globalbandits as gb

PRICES = [0.4, 0.6, 0.8]


class Reader(HTMLParser):
    """Texts of a piece of HTML; every tag must be closed in order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.texts = []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(thing):
    reader = Reader()
    reader.feed(thing._repr_html_())
    reader.close()
    assert reader.open == []
    return reader.texts


@pytest.fixture(scope="module")
def model():
    return gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, PRICES)


@pytest.fixture
def learner(model):
    learner = gb.Learner(gb.WAGP(), model, seed=7, compiled=False)
    for reward in (0.31, 0.24, 0.36):
        learner.update(learner.select(), reward)
    return learner


def test_a_model_shows_its_curves_and_regions(model):
    texts = read(model)
    assert repr(model) in texts
    assert model._repr_html_().count("<polyline") == len(PRICES)
    assert [text for text in texts if text in ("0.4", "0.6", "0.8")] == ["0.8", "0.6", "0.4"]


def test_a_learner_shows_its_next_choice_first(learner):
    texts = read(learner)
    assert texts[0].startswith("Next: arm 2 (0.8), ")
    assert texts == read(learner.explain())
    assert "own estimate" in texts


def test_statements_show_their_sentence_and_then_its_explanation(learner):
    statements = (
        learner.interval(),
        learner.contenders(),
        learner.evidence_against_model(),
        learner.drift(),
    )
    for statement in statements:
        said, meaning = read(statement)
        assert said == str(statement)
        assert meaning
        assert said not in meaning


def test_a_result_shows_its_summary(model):
    env = gb.Environment(model, 0.4)
    result = gb.simulate(env, [gb.WAGP(), gb.UCB1()], horizon=20, runs=3)
    texts = read(result)
    assert texts[0] == "Regret after 20 decisions, 3 runs, 95 % intervals"
    assert {"WAGP", "UCB1"} <= set(texts)
    assert f"{result.summary().loc['WAGP', 'regret_mean']:.4g}" in texts


def test_a_league_names_the_winner():
    standings = gb.league(["WAGP", "UCB1"], ["short"], runs=3)
    texts = read(standings)
    assert texts[0] == str(standings)
    assert str(standings).startswith(f"{standings.order()[0]} won: ")


def test_labels_are_text_and_never_tags():
    label = "<script>alert(1)</script>"
    model = gb.RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=[label, "b"])
    assert "<script" not in model._repr_html_()
    assert "<script" not in gb.Learner(gb.WAGP(), model, compiled=False)._repr_html_()


def test_arms_of_mixed_numbers_look_alike():
    model = gb.demand.linear_power([33, 35.0], domain=(0.0, 0.02))
    learner = gb.Learner(gb.WAGP(), model, seed=7, compiled=False)
    assert {"33.0", "35.0"} <= set(read(learner))
    assert "33.0" in str(learner.explain())
    assert {"33", "35"} & set(read(model))
    assert "35.0" not in read(model)
