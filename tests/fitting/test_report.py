"""Figures and the page of a fit, and the replay in its own groups."""

import re
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import FitError
from globalbandits.fitting import fit_result
from globalbandits.fitting.assessment import forecast
from globalbandits.fitting.assessment.forecast import (
    N_DRAWS_PER_GROUP,
    candidate_policies,
    plausible_groups,
)
from globalbandits.fitting.estimation.group_posterior import arm_means, posterior_weights
from tests.fitting.panels import COLUMNS

NAMES = ("Elastic(history)", "IndependentGittins", "WAGP")


def few(*which):
    return {name: policy for name, policy in candidate_policies(*which).items() if name in NAMES}


@pytest.fixture(scope="module")
def found():
    history = gb.histories.paper(groups=24, rewards=90, seed=1, rho=0.01)
    names = np.array([f"<shop {number}>" for number in range(24)])
    rows = {**history, "group": names[history["group"]]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecast, "candidate_policies", few)
        return gb.fit(rows, **COLUMNS, horizon=50, runs=20)


@pytest.fixture(scope="module")
def page(found, tmp_path_factory):
    path = found.report(tmp_path_factory.mktemp("page") / "fit.html")
    return path.read_text("utf-8")


class Reader(HTMLParser):
    """All tags, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.tags = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_verdict_in_words_comes_first(page, found):
    body = page[page.index("<body>") :]
    places = [body.index(text) for text in ("Deploy", found.verdict.sentences[1], "<figure>")]
    assert places == sorted(places)
    text = " ".join(Reader(page).texts)
    for sentence in found.verdict.sentences:
        assert sentence in text


def test_the_page_is_well_formed_and_needs_nothing_else(page):
    reader = Reader(page)
    assert reader.open == []
    links = [attrs[key] for _, attrs in reader.tags for key in ("src", "href") if key in attrs]
    assert len(links) == 4
    assert all(link.startswith("data:image/svg+xml;base64,") for link in links)
    assert not re.search(r"<(script|link)\b", page)
    assert any(attrs.get("name") == "viewport" for tag, attrs in reader.tags if tag == "meta")


def test_the_page_holds_the_numbers_of_the_fit(page, found):
    text = " ".join(Reader(page).texts)
    assert f"One number explains {found.share:.0%}" in text
    assert f"{found.value_of_information.total:.3g}" in text
    for name in (*NAMES, found.forecast.fixed):
        assert name in text
        assert f"{found.forecast.means[name][-1]:.4g} ±" in text
    assert "Break-even:" in text


def test_without_a_verdict_the_page_has_no_regret(tmp_path, found):
    history = gb.histories.identical_groups(groups=8, rewards=70, seed=2)
    plain = gb.fit(history, **COLUMNS, verdict=False)
    text = plain.report(tmp_path / "plain.html").read_text("utf-8")
    assert "Deploy Elastic(history)" in text
    assert "What is lost in a new group" not in text
    assert "there is nothing to explain" in text


def test_unknown_quantities_are_not_printed_as_numbers(tmp_path, monkeypatch):
    history = gb.histories.exponential_demand(groups=30, rewards=7, seed=1, concentration=5.0)
    single = gb.fit(history, **COLUMNS, reward_range=(0, 1), verdict=False)
    text = single.report(tmp_path / "single.html").read_text("utf-8")
    assert "cannot be told: every group has one reward per arm" in text
    assert "nan" not in re.sub(r'src="[^"]*"', "", text)


def test_a_page_of_another_kind_is_refused(found, tmp_path):
    with pytest.raises(FitError, match=r"page path must end in .html, got '.*fit.pdf'"):
        found.report(tmp_path / "fit.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_the_printout(found):
    shown = found._repr_html_()
    assert Reader(shown).open == []
    assert "".join(Reader(shown).texts) == str(found)


def test_figures_show_the_fit_and_accept_axes(found):
    figure, axes = plt.subplots(1, 3)
    try:
        plots = (found.plot_curves, found.plot_groups, found.plot_regret)
        for plot, place in zip(plots, axes, strict=True):
            assert plot(ax=place) is figure
        curve = axes[0].lines[1].get_xydata()
        np.testing.assert_allclose(curve[:, 1], found.curves.means[:, 1])
        assert len(axes[1].get_yticks()) == 24
        ends = {
            line.get_label(): line.get_ydata()[-1]
            for line in axes[2].lines
            if line.get_xdata().size > 1
        }
        assert ends[found.forecast.fixed] == pytest.approx(
            found.forecast.means[found.forecast.fixed][-1]
        )
    finally:
        plt.close(figure)
    assert found.plot_curves().axes[0].get_ylabel() == "mean reward"


@pytest.mark.parametrize("concentration", [None, 5.0])
def test_plausible_means_are_those_that_rewards_leave_open(concentration):
    history = gb.histories.exponential_demand(
        groups=10, rewards=140, seed=4, rho=0.02, concentration=concentration
    )
    fit = gb.fit(history, **COLUMNS, reward_range=(0, 1), verdict=False)
    rng = np.random.default_rng(3)
    draws = [plausible_groups(fit.panel, fit.fitted, rng).means for _ in range(50)]
    means = np.concatenate([each.reshape(10, N_DRAWS_PER_GROUP, 7) for each in draws], axis=1)
    expected = arm_means(fit.panel, fit.fitted, posterior_weights(fit.panel, fit.fitted))
    error = means.std(axis=1) / np.sqrt(means.shape[1])
    assert (np.abs(means.mean(axis=1) - expected) < 5 * error + 2e-3).all()
    # The truth lies among them: the rank of a true mean is about uniform.
    ranks = (means < history.means[:, None]).mean(axis=1)
    assert abs(ranks.mean() - 0.5) < 0.12
    assert 0.6 < np.mean((ranks > 0.1) & (ranks < 0.9)) < 0.95


def test_a_replay_is_fitted_without_the_groups_it_plays(found, monkeypatch):
    monkeypatch.setattr(forecast, "candidate_policies", few)
    fitted, played = [], []

    def learn(panel, scale, **how):
        fitted.append(set(panel.groups))
        return real_fit(panel, scale, **how)

    def draw(panel, *rest):
        played.append(set(panel.groups))
        return real_draw(panel, *rest)

    real_fit, real_draw = fit_result.fit_shared, forecast.plausible_groups
    monkeypatch.setattr(fit_result, "fit_shared", learn)
    monkeypatch.setattr(forecast, "plausible_groups", draw)
    first = found.replay(40, runs=10, seed=1)
    assert [a | b for a, b in zip(fitted, played, strict=True)] == [set(found.panel.groups)] * 2
    assert all(a.isdisjoint(b) for a, b in zip(fitted, played, strict=True))
    assert first.index.get_level_values("rounds").max() == 40
    assert set(first.index.get_level_values("policy")) == {*NAMES, "one arm always"}
    assert (first["regret"] >= 0).all()
    assert first.equals(found.replay(40, runs=10, seed=1))


def test_a_replay_needs_groups_in_both_halves():
    few_groups = gb.fit(gb.histories.paper(groups=5, rewards=90, seed=1), **COLUMNS, verdict=False)
    with pytest.raises(FitError, match="replay must have at least 3 groups with rewards of 2 arms"):
        few_groups.replay(10)
