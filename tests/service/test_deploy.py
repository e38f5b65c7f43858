"""The files of `deploy` agree with the limits and paths of the service."""

import configparser
import re
from pathlib import Path

import pytest

from globalbandits.service.http.operations import OPERATIONS
from globalbandits.service.http.request import MAX_BATCH_BYTES
from globalbandits.service.server import MAX_CONNECTIONS

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_unit_allows_every_connection_and_a_slow_stop():
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str
    unit.read(DEPLOY / "globalbandits.service")
    service = unit["Service"]
    assert int(service["LimitNOFILE"]) >= 4 * MAX_CONNECTIONS
    assert int(service["TimeoutStopSec"]) >= 30


def test_the_proxy_passes_batches_and_streams():
    text = (DEPLOY / "nginx.conf").read_text()
    size = re.search(r"client_max_body_size (\d+)m;", text)
    assert int(size[1]) * 2**20 >= MAX_BATCH_BYTES
    located = re.search(r"location ~ (\^/v1\S+) \{([^}]*)\}", text)
    streams = [found.path for found in OPERATIONS if found.path.endswith("/stream")]
    for path in streams:
        assert re.match(located[1], path.replace("{name}", "shop"))
    assert "proxy_buffering off;" in located[2]
    assert int(re.search(r"proxy_read_timeout (\d+)s", located[2])[1]) > 15
    assert text.count("{") == text.count("}")
    private = re.search(r"location ~ (\^/\(metrics\S+) ", text)
    assert re.match(private[1], "/metrics")
    assert not any(re.match(private[1], found.path) for found in OPERATIONS if found.path[1] == "v")


def test_the_containers_name_files_that_are_there():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    built = services["globalbandits"]["build"]
    assert (DEPLOY / built["context"] / built["dockerfile"]).is_file()
    mounted = services["proxy"]["volumes"][0].partition(":")[0]
    assert (DEPLOY / mounted).is_file()
    assert services["proxy"]["environment"]["UPSTREAM"] == "globalbandits:8000"
    assert "{$UPSTREAM:127.0.0.1:8000}" in (DEPLOY / mounted).read_text()
