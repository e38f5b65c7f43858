"""The service compiles the policies of its bandits when it starts."""

import threading

from globalbandits.compiling import cache, compiler
from globalbandits.service.log import Log
from globalbandits.service.stores import open_store


def test_the_policies_of_a_store_are_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_KERNELS", {})
    log = Log(open_store(str(tmp_path / "shop.db")))
    spec = {
        "model": {"family": "demand.linear_power", "arms": [0.4, 0.6, 0.8]},
        "policy": {"policy": "wagp"},
    }
    plain, _ = log.create("shop", spec)
    log.warm()
    assert len(list((tmp_path / "cache").glob("*.nbc"))) == 1
    quick, _ = log.create("other", spec)
    assert not plain.learner.is_compiled
    assert quick.learner.is_compiled
    assert plain.learner.load_compiled()
    log.close()


def test_a_new_policy_of_two_numbers_is_compiled_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_KERNELS", {})
    log = Log(open_store(str(tmp_path / "shop.db")))
    one = {"family": "demand.exponential", "arms": [2.0, 3.0, 4.0], "cost": 1.5}
    model = one | {"level": [0.02, 0.2]}
    log.compile_new()
    plain, _ = log.create("plain", {"model": one, "policy": {"policy": "uniform"}, "seed": 1})
    assert log._is_new_kind(plain.settings), "with one number plain Python is quick enough"
    made, _ = log.create("shop", {"model": model, "policy": {"policy": "uniform"}, "seed": 1})
    assert not made.learner.is_compiled
    decision = log.decide("shop", "one").decision
    log.reward("shop", decision.id, 1.0)
    again, _ = log.create("again", {"model": model, "policy": {"policy": "uniform"}, "seed": 2})
    assert not log._is_new_kind(again.settings), "one process compiles for both"
    for thread in threading.enumerate():
        if thread.name == "compiler":
            thread.join()
    log.change("shop", {"mode": "shadow", "incumbent": 2.0})  # the writer has done all before
    assert made.learner.is_compiled
    assert again.learner.is_compiled
    assert made.learner.n_observations == 1
    log.close()
