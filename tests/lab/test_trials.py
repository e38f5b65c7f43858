"""Trials from a file, against a plain CRM of the tests' own."""

import numpy as np
import pytest

import globalbandits as gb
from benchmarks.overlapping_trials import SCENARIOS, play_overlapping
from globalbandits.lab.report.protocol_report import write_protocol
from globalbandits.lab.report.trial_tables import draw_trial
from globalbandits.lab.trials import load_trial, parse_trial, play_trial
from tests.oracles.crm import PlainCRM, play

SKELETON = [0.05, 0.12, 0.25, 0.40, 0.55, 0.65]
TARGET = 0.25
# The normal prior is on the whole line: the domain holds all but 1e-6 of its mass.
MODEL = gb.dose.power(SKELETON, target=TARGET, domain=(-6.0, 6.0))
INNER = gb.GridPlugIn(cells=2000, prior_variance=1.34)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("intercept", [None, 3.0])
def test_every_decision_is_that_of_the_restricted_crm(size, intercept):
    """Empiric and logistic, cohorts of one and three, each treated together."""
    target, rng = 0.25, np.random.default_rng(size)
    design = PlainCRM(SKELETON, target, intercept=intercept)
    if intercept is None:
        model = MODEL
    else:
        model = gb.dose.skeleton_logistic(SKELETON, intercept, target=target, domain=(-6.0, 6.0))
    n_agreed = 0
    for truth in load_trial().scenarios.values():
        learner = gb.Learner(gb.Limited(INNER, cohort=size), model, seed=0)
        treated, events = np.zeros((1, 6)), np.zeros((1, 6))
        dose = 0
        for _ in range(36 // size):
            assert [learner.select() for _ in range(size)] == [dose] * size
            outcomes = (rng.random(size) < truth[dose]).astype(float)
            learner.update([dose] * size, outcomes)
            treated[0, dose] += size
            events[0, dose] += outcomes.sum()
            mean = design.posterior_mean(treated, events)[0]
            assert learner.estimate == pytest.approx(mean, abs=1e-4)
            dose = int(design.next_dose(treated, events, dose, outcomes.sum(), size)[0])
            n_agreed += 1
    assert n_agreed == 5 * 36 // size


def test_overlapping_patients_are_never_sent_up_by_a_toxicity():
    """The benchmark's trials, a few of them in plain Python."""
    for cohort in (1, 3):
        truth = SCENARIOS["first dose"]
        found = play_overlapping(truth, 40, cohort=cohort, compiled=False)
        assert found.reports > 300
        assert found.raised == 0
    found = play_overlapping(SCENARIOS["steep"], 20, compiled=False)
    assert (found.raised, found.above_second) == (0, 20)


def test_selection_shares_are_those_of_the_plain_crm():
    """Two Monte Carlo studies with random numbers of their own; four standard errors."""
    design, rng, runs = PlainCRM(SKELETON, TARGET, n_points=301), np.random.default_rng(11), 3000
    crm = gb.Limited(gb.GridPlugIn(cells=300, prior_variance=1.34), cohort=3, whole_cohorts=True)
    for name, rates in load_trial().scenarios.items():
        world = gb.Environment(MODEL, truth=rates, noise=gb.BernoulliNoise())
        ours = gb.simulate(world, {"CRM": crm}, 36, runs=runs, seed=2, checkpoints=1, batch=3)
        chosen, treated = play(design, rates, runs, 12, 3, rng)
        for arm, share in enumerate(ours.selection().loc["CRM"].to_numpy()):
            other = np.mean(chosen == arm)
            middle = (share + other) / 2
            error = np.sqrt(2 * middle * (1 - middle) / runs)
            assert abs(share - other) <= 4 * error, (name, arm)
        patients = ours.dataset["pulls"].values[0]
        spread = np.sqrt((patients.var(axis=0) + treated.var(axis=0)) / runs)
        gap = np.abs(patients.mean(axis=0) - treated.mean(axis=0))
        assert np.all(gap <= 4 * spread + 1e-12), name


def test_the_example_gives_the_documented_results(tmp_path):
    played = play_trial(load_trial(), runs=300)
    table = played.table()
    assert table.shape == (20, 6 + 1 + 5)
    shares = table[[*load_trial().doses, "none"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    toxic = table.loc["all too toxic", "CRM"]
    assert toxic["none"] > 0.8
    assert toxic["patients"] < 20
    right = table.loc["as guessed", "CRM"]
    assert right["correct"] == right["20 mg"] > 0.5
    assert right["above"] < 0.3
    assert draw_trial(played, tmp_path / "shares.png").stat().st_size > 10_000


SPEC = {
    "target": 0.25,
    "patients": 6,
    "model": {"family": "dose.power", "arms": [0.1, 0.3]},
    "designs": {"one": {"policy": "wagp"}},
    "scenarios": {"a": [0.1, 0.3]},
}


def test_likely_mistakes_are_named():
    assert load_trial().remarks == ()
    model = {"family": "dose.power", "arms": [0.3, 0.1]}
    scenarios = {"a": [0.1, 0.3], "turning": [0.3, 0.1]}
    first, second = parse_trial(SPEC | {"model": model, "scenarios": scenarios}).remarks
    assert first.startswith("the doses are in descending order")
    assert second == "scenario 'turning': the true rate falls from one dose to the next"


def test_a_small_trial():
    seen = []
    played = play_trial(parse_trial(SPEC), runs=5, tick=seen.append)
    assert seen == ["a"]
    assert played.results["a"]["one"].reasons == {"all patients": 1.0}
    assert played.trial.more_than == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decisions": 3}, "trial must have keys among designs, .* got 'decisions'"),
        ({"target": None}, "target must be a number, got None"),
        ({"target": 1.5}, "target must .* got 1.5"),
        ({"patients": 0}, "patients must be at least 1, got 0"),
        ({"runs": 0}, "runs must be at least 1, got 0"),
        ({"model": 3}, "model must have family and arms, got 3"),
        (
            {"model": {"family": "dose.magic", "arms": [1]}},
            r"model\.family must be one of .*'dose.magic'",
        ),
        (
            {"model": {"family": "dose.power", "arms": [0.1, 0.3], "hill": 2}},
            r"model: a parameter of dose\.power must be one of .*, got 'hill'",
        ),
        ({"designs": {}}, "designs must be a table with at least one entry"),
        ({"designs": {"one": {"policy": "x"}}}, "policy must be one of"),
        ({"designs": {"one": {"design": "x"}}}, r"designs\.one must be one of .* got 'x'"),
        ({"designs": {"one": {"design": "crm"}}}, r"designs\.one: crm must have guesses, got \[\]"),
        (
            {"designs": {"one": {"design": "tite_crm", "guesses": [0.1, 0.3], "window": 28}}},
            r"designs\.one: tite_crm must have every, got \['guesses', 'window'\]",
        ),
        ({"designs": {"one": {}}}, r"designs\.one must have a policy or a design, got"),
        (
            {"designs": {"one": {"design": "boin", "lower": 1}}},
            r"designs\.one: a parameter of boin must be one of .* got 'lower'",
        ),
        (
            {"designs": {"one": {"policy": "limited", "high": 5}}},
            "high must be at most 1, the last arm, got 5",
        ),
        ({"scenarios": [1]}, "scenarios must be a table with at least one entry"),
        ({"scenarios": {"a": [0.1]}}, r"truth must be 2 rates, one per dose, got \[0.1\]"),
        ({"scenarios": {"a": [0.1, 1.2]}}, r"truth must be 2 rates, one per dose, got"),
        ({"doses": ["a", "a"]}, "doses must be 2 different labels, got"),
        ({"stop": 3}, "stop must have keys among"),
        ({"stop": {"below": 3}}, "stop must have keys among"),
        ({"stop": {"above": 3}}, "above must lie in the reward range"),
        (
            {"stop": {"above": 0.25}, "model": {"family": "dose.linear", "arms": [1.0, 9.0]}},
            r"above must be a limit that 36 largest rewards of arm 0 exceed .* is 0\.111 on .*",
        ),
    ],
)
def test_an_invalid_file_is_refused(change, message):
    with pytest.raises(gb.GlobalBanditsError, match=message):
        parse_trial(SPEC | change)


def test_the_report_has_what_a_protocol_contains(tmp_path):
    trial = load_trial()
    page = write_protocol(trial, tmp_path / "protocol.html", runs=40).read_text("utf-8")
    texts = ("20 mg", "as guessed", "benchmark: recommended", "3+3: DLTs", "BOIN: patients")
    for text in (*texts, "CRM: overdosed", "<svg", "Decisions after", "too toxic", "numpy"):
        assert text in page
    # All pathways of three cohorts of each design, until a stop.
    n_pathways = sum(len(each.pathways(3)) for each in trial.designs.values())
    assert page.count('<th scope="row">5 mg</th>') >= n_pathways > 60
    again = write_protocol(trial, tmp_path / "again.html", runs=40)
    assert again.read_text("utf-8") == page
    other = parse_trial(SPEC | {"doses": ["a < b", "c"]})
    assert "a &lt; b" in write_protocol(other, tmp_path / "other.html", runs=5).read_text("utf-8")


def test_designs_of_the_catalogue_in_a_file(tmp_path):
    """BLRM, TITE-CRM and the keyboard, without a model of the trial."""
    spec = {
        "target": 0.25,
        "patients": 12,
        "designs": {
            "BLRM": {
                "design": "blrm",
                "amounts": [10.0, 20.0],
                "reference": 20.0,
                "prior_mean": [-1.0, 0.0],
                "prior_sd": [2.0, 1.0],
                "overdose": [0.33, 0.25],
            },
            "TITE": {"design": "tite_crm", "guesses": [0.1, 0.3], "window": 28, "every": 14},
            "keyboard": {"design": "keyboard", "half_width": 0.04},
        },
        "stop": {"at_any": 9},
        "scenarios": {"a": [0.1, 0.3]},
    }
    trial = parse_trial(spec)
    assert trial.doses == ("dose 1", "dose 2")
    assert trial.designs["BLRM"].stop.at_any == 9
    found = play_trial(trial, runs=50).results["a"]
    assert {len(one.patients) for one in found.values()} == {50}
    page = write_protocol(trial, tmp_path / "page.html", runs=20).read_text("utf-8")
    assert "keyboard: patients" in page
    with pytest.raises(gb.ScenarioError, match="model must be given for a design with a policy"):
        parse_trial(spec | {"designs": {"one": {"policy": "ucb1"}}})


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(gb.ScenarioError, match="trial must have designs, got"):
        parse_trial({key: value for key, value in SPEC.items() if key != "designs"})
    with pytest.raises(gb.ScenarioError, match="trial must be a readable TOML file, got"):
        load_trial(tmp_path / "none.toml")


def test_an_interrupted_trial_interrupts(monkeypatch):
    def interrupted(*arguments, runs, **options):
        return gb.simulate(*arguments, runs=runs - 1, **options)

    monkeypatch.setattr("globalbandits.trial.design.simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        play_trial(load_trial(), runs=3)
