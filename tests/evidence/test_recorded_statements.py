"""Numbers of all statements on varied logs are the recorded ones.

Other tests compare statements with grids and formulas, within what a search may round. These
records have the rounding as well, so a search that changes is noticed. A change that is meant to
change numbers records them again: ``python -m tests.evidence.test_recorded_statements``.
"""

import dataclasses
import json
import math
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.evidence import search, vector_inference
from globalbandits.evidence.contenders import model_p_values
from globalbandits.evidence.e_processes import Pooled, SpikeSlab
from globalbandits.evidence.evidence import vector_inference_of
from globalbandits.evidence.inference import Inference
from tests.evidence.models import bernoulli_rewards, beta_rewards, log_of

RECORD = Path(__file__).with_name("recorded_statements.json")
RECORDED = json.loads(RECORD.read_text()) if RECORD.exists() else {}


def valued_log(model, theta, n, seed, bias=0.0, rewards=bernoulli_rewards, moved=None):
    """Rewards of uniformly drawn arms; with ``moved`` the parameter changes after a third."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(model.n_arms, size=n)
    low, high = model.reward_range
    means = np.array([model.means(theta)] * n)
    if moved is not None:
        means[n // 3 :] = model.means(moved)
    units = (means - low) / (high - low) + bias * rng.uniform(-1, 1, model.n_arms)
    units = np.clip(units[np.arange(n), arms], 1e-6, 1 - 1e-6)
    return model, arms, low + (high - low) * rewards(rng, units)


def shop():
    return gb.demand.exponential([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], cost=1.5)


def trial():
    return gb.dose.emax([0.5, 1.0, 2.0, 4.0, 8.0, 16.0], target=0.25)


def two_humps():
    """Worth with two peaks and a trough in the mean, and arms of different levels."""
    return gb.RewardModel(
        "0.1 + 0.8 * theta ** arm",
        [0.5, 1.0, 2.0],
        value="arm * (mean - 0.2) * (mean - 0.5) * (mean - 0.9)",
    )


def two_numbers():
    return gb.demand.exponential(
        [2.0, 3.0, 4.0, 5.0, 6.0], cost=1.5, level=(0.02, 0.2), slope=(0.02, 0.6)
    )


def turning():
    return gb.VectorModel(
        "2 * (0.05 + b*exp(-9*(a - arm)**2)) - 1",
        [0.2, 0.5, 0.8],
        {"a": (0.0, 1.0), "b": (0.2, 0.9)},
        reward_range=(-1.0, 1.0),
        value="(mean - 0.3*arm)**2",
    )


def doses():
    return gb.dose.logistic(
        [1.0, 2.5, 5.0, 10.0], intercept=(-4.0, 1.0), slope=(0.3, 3.0), reference=5.0, target=0.25
    )


def one_number():
    return gb.VectorModel("0.9 * exp(-slope * arm)", [1.0, 2.0, 3.0], {"slope": (0.1, 2.0)})


def three_numbers():
    return gb.VectorModel(
        "top * expit(level - slope*arm)",
        [1.0, 2.0, 3.0],
        {"level": (-1, 4), "slope": (0.25, 3), "top": (0.3, 1)},
        value="(arm - 0.5) * mean",
    )


def first_wrong(model, theta, n, seed, stretch=0.5):
    """Rewards that no parameter explains at first, and later those of theta."""
    n_wrong = round(stretch * n)
    _, arms, wrong = valued_log(model, theta, n_wrong, seed, bias=0.35)
    _, more, right = valued_log(model, theta, n - n_wrong, seed + 1)
    return model, np.concatenate([arms, more]), np.concatenate([wrong, right])


LOGS = {
    "pricing-1": lambda: log_of("pricing", 1, 1),
    "pricing-300": lambda: log_of("pricing", 300, 2),
    "logistic-dose-60": lambda: log_of("logistic_dose", 60, 3),
    "emax-2500": lambda: log_of("emax", 2_500, 4),
    "exponential-biased": lambda: log_of("exponential", 900, 5, bias=0.2),
    "illustration-at-the-end": lambda: log_of("illustration", 500, 6, theta=0.999),
    "revenue-coins": lambda: log_of("revenue", 700, 7, rewards=bernoulli_rewards),
    "shop-20": lambda: valued_log(shop(), 0.22, 20, 8),
    "shop-1500": lambda: valued_log(shop(), 0.22, 1_500, 9),
    "shop-moved": lambda: valued_log(shop(), 0.05, 1_800, 10, moved=0.5),
    "trial-90": lambda: valued_log(trial(), 0.6, 90, 11),
    "trial-wrong": lambda: valued_log(trial(), 0.6, 600, 12, bias=0.3),
    "shop-first-wrong": lambda: first_wrong(shop(), 0.22, 6_600, 15, stretch=0.4),
    "two-humps-400": lambda: valued_log(two_humps(), 0.6, 400, 13, rewards=beta_rewards),
    "two-humps-wrong": lambda: valued_log(two_humps(), 0.2, 900, 14, bias=0.3),
}
VECTOR_LOGS = {
    "two-numbers-50": lambda: valued_log(two_numbers(), [0.1, 0.2], 50, 21),
    "two-numbers-3000": lambda: valued_log(two_numbers(), [0.1, 0.2], 3_000, 22),
    "two-numbers-wrong": lambda: valued_log(two_numbers(), [0.1, 0.2], 2_000, 23, bias=0.4),
    "two-numbers-first-wrong": lambda: first_wrong(two_numbers(), [0.1, 0.2], 4_300, 28),
    "turning-400": lambda: valued_log(turning(), [0.4, 0.6], 400, 24),
    "turning-beta": lambda: valued_log(turning(), [0.9, 0.3], 90, 25, rewards=beta_rewards),
    "doses-120": lambda: valued_log(doses(), [-1.5, 1.0], 120, 26),
    "one-number-300": lambda: valued_log(one_number(), [0.8], 300, 29),
    "one-number-5": lambda: valued_log(one_number(), [0.8], 5, 30),
    "three-numbers-wrong": lambda: valued_log(three_numbers(), [1.0, 1.0, 0.8], 900, 31, bias=0.3),
    "three-numbers-2000": lambda: valued_log(three_numbers(), [1.0, 1.0, 0.8], 2_000, 32),
    "three-numbers-40": lambda: valued_log(three_numbers(), [1.0, 1.0, 0.8], 40, 27),
}


def fields(statement, *left_out):
    """The numbers of a statement."""
    return {
        name: value
        for name, value in dataclasses.asdict(statement).items()
        if name not in ("arms", "values", "baseline", *left_out)
    }


def statements_of(evidence):
    """All statements about one unknown number."""
    found = {
        "interval": fields(evidence.interval()),
        "narrow": fields(evidence.interval(0.6)),
        "against": fields(evidence.against_model()),
        "contenders": fields(evidence.contenders()),
        "few": fields(evidence.contenders(0.7)),
        "drift": fields(evidence.drift()),
        "earnings": fields(evidence.earnings(1)),
        "bounds": evidence.observed_bounds().tolist(),
        "worth": evidence.observed_worth().tolist(),
        "peak": evidence.state().get("peak"),
    }
    for errors in (0.02, 0.1):
        found[f"contenders within {errors}"] = fields(evidence.contenders(0.9, errors))
    return found | searches_of(evidence.model, evidence.counts)


def searches_of(model, counts):
    """Bounds of the processes on coarse cells, and what searches make of them."""
    inference, edges = Inference(model, counts), np.linspace(*model.domain, 6)
    cells = edges[:-1], edges[1:]
    pooled, spike = Pooled(model, counts), SpikeSlab(model, counts)
    found = {
        "edges": search.likely_edges(model, counts).tolist(),
        "pooled": np.array(pooled.survey(*cells, -math.inf)).tolist(),
        "pooled where low": np.array(pooled.survey(*cells, 5.0)).tolist(),
        "spike": np.array(spike.survey(*cells, -math.inf)).tolist(),
        "spike with errors": SpikeSlab(model, counts, 0.1).at(edges).tolist(),
        "rough": inference.rough_against(0.5, 3.0),
        "infimum": search.find_infimum(pooled, edges),
        "free": inference._free_p_values.tolist(),
    }
    bounds = pooled.survey(*cells, 3.0)[1]
    found["p-values"] = model_p_values(model, pooled, edges, bounds).tolist()
    for most in (2, 20):
        with mock.patch.object(search, "_MAX_OPEN_CELLS", most):
            found[f"hull of {most} cells"] = search.find_hull(pooled, 3.0, edges)
            found[f"infimum of {most} cells"] = search.find_infimum(spike, edges)
    return found


def vector_statements_of(evidence):
    """All statements about several unknown numbers."""
    return {
        "region": fields(evidence.region()),
        "narrow": fields(evidence.region(0.6)),
        "against": fields(evidence.against_model()),
        "contenders": fields(evidence.contenders()),
        "earnings": fields(evidence.earnings(1)),
        "bounds": evidence.observed_bounds(0.9).tolist(),
        "worths": evidence.worths().tolist(),
        "peak": evidence.state().get("peak"),
        "few": evidence.worths(0.6).tolist(),
    } | vector_searches_of(evidence.model, evidence.counts)


def vector_searches_of(model, counts):
    """What the cells of the box bound, with as many cells as are needed and with few."""
    found = {}
    for most in (None, 3_000):
        few = vector_inference._MAX_CELLS if most is None else dict.fromkeys((1, 2, 3), most)
        with mock.patch.object(vector_inference, "_MAX_CELLS", few):
            inference = vector_inference_of(model, counts)
            cover = inference.cover(0.9)
            found[f"box with {most} cells"] = [
                *inference.top[1].tolist(),
                inference.top[0],
                inference.log_marginal,
                inference.log_e_against,
                len(cover.low),
                cover.low.sum(),
                cover.high.sum(),
                cover.share,
                *inference.p_values().tolist(),
                *inference.worth_bounds(cover).ravel().tolist(),
            ]
    return found


def found_in(name):
    """The numbers of a log, by statement."""
    if name in LOGS:
        return statements_of(gb.evidence_from_log(*LOGS[name](), every=100))
    return vector_statements_of(gb.evidence_from_log(*VECTOR_LOGS[name](), every=100))


def flat(found):
    """Nested numbers as a list; no number is -1e9, and nan is 1e9."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, (list, tuple)):
        return [number for part in found for number in flat(part)]
    if found is None:
        return [-1e9]
    if isinstance(found, str):
        return [float(len(found))]
    return [1e9 if math.isnan(found) else max(-1e9, min(float(found), 1e9))]


@pytest.mark.parametrize("name", [*LOGS, *VECTOR_LOGS])
def test_statements_are_the_recorded_ones(name):
    recorded, found = RECORDED[name], found_in(name)
    assert recorded.keys() == found.keys()
    for statement, numbers in recorded.items():
        assert flat(found[statement]) == pytest.approx(numbers, rel=1e-6, abs=1e-8), statement


if __name__ == "__main__":
    lines = []
    for log in (*LOGS, *VECTOR_LOGS):
        numbers = {
            statement: [float(f"{number:.8g}") for number in flat(part)]
            for statement, part in found_in(log).items()
        }
        lines.append(f"{json.dumps(log)}: {json.dumps(numbers)}")
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
