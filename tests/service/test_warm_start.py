"""The service compiles the policies of its bandits when it starts."""

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
    assert not plain.learner._calls.is_compiled
    assert quick.learner._calls.is_compiled
    log.close()
