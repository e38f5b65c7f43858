"""The proxy files of `deploy` in front of the service: real nginx and Caddy, TLS and streams."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from globalbandits.service.http.request import MAX_BATCH_BYTES
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving
from tests.service.worlds import WAGP

DEPLOY = Path(__file__).parents[2] / "deploy"
SECRET = "a-secret-of-the-operator"
OPTIONS = ServiceOptions(compiled=False, token=SECRET)
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
CADDY = shutil.which("caddy")
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of localhost, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files],
        check=True,
        capture_output=True,
    )
    return folder / "certificate.pem", folder / "key.pem"


def replaced(text, changes):
    """The text with other names and ports; every old one must be there."""
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def running(command, folder, port, environment=None):
    """A proxy until the end of the block."""
    with (folder / "proxy.log").open("w") as log:
        proxy = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=os.environ | (environment or {})
        )
    try:
        for _ in range(600):
            assert proxy.poll() is None, (folder / "proxy.log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield
    finally:
        proxy.terminate()
        proxy.wait(30)


@contextmanager
def nginx(folder, upstream, certificate, port, plain):
    """Our file for nginx, inside the smallest configuration that includes it."""
    text = (DEPLOY / "nginx.conf").read_text()
    changes = {
        "listen 443 ": f"listen 127.0.0.1:{port} ",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "bandits.example.com;": "localhost;",
        "http://127.0.0.1:8000": upstream,
        "/etc/letsencrypt/live/bandits.example.com/fullchain.pem": str(certificate[0]),
        "/etc/letsencrypt/live/bandits.example.com/privkey.pem": str(certificate[1]),
    }
    (folder / "globalbandits.conf").write_text(replaced(text, changes))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log stderr;\n"
        f"events {{}}\nhttp {{ access_log off; {places}\ninclude {folder}/globalbandits.conf; }}\n"
    )
    command = [NGINX, "-p", folder, "-e", "stderr", "-c", folder / "nginx.conf"]
    with running(command, folder, port):
        yield


@contextmanager
def caddy(folder, upstream, certificate, port, plain):
    """Our file for Caddy, with a certificate in place of one from the network."""
    options = f"\tadmin off\n\thttp_port {plain}\n\tskip_install_trust\n"
    files = " ".join(map(str, certificate))
    changes = {
        "\tgrace_period": f"{options}\tgrace_period",
        "bandits.example.com {": f"https://localhost:{port} {{\n\ttls {files}",
    }
    text = (DEPLOY / "Caddyfile").read_text()
    (folder / "Caddyfile").write_text(replaced(text, changes))
    places = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    places["UPSTREAM"] = upstream.removeprefix("http://")
    with running([CADDY, "run", "--config", "Caddyfile"], folder, port, places):
        yield


PROXIES = [
    pytest.param(nginx, 200, marks=pytest.mark.skipif(NGINX is None, reason="no nginx here")),
    pytest.param(caddy, 404, marks=pytest.mark.skipif(CADDY is None, reason="no Caddy here")),
]


@pytest.mark.parametrize(("proxy", "metrics"), PROXIES, ids=["nginx", "caddy"])
def test_the_service_behind_a_proxy(proxy, metrics, certificate, tmp_path):
    port, plain = free_port(), free_port()
    trusted = ssl.create_default_context(cafile=certificate[0])
    headers = {"Authorization": f"Bearer {SECRET}"}
    with (
        serving(SQLiteStore(":memory:"), OPTIONS) as (_, upstream),
        proxy(tmp_path, upstream, certificate, port, plain),
        httpx.Client(
            base_url=f"https://localhost:{port}", verify=trusted, headers=headers, timeout=30
        ) as http,
    ):
        assert http.put("/v1/bandits/shop", json=WAGP).status_code == 201
        assert http.get("/v1/bandits", headers={"Authorization": ""}).status_code == 401
        with http.stream("GET", "/v1/bandits/shop/stream") as answer:
            # A proxy that buffers would hold the events back until the stream ends.
            lines = (line for line in answer.iter_lines() if line.startswith("data: "))
            assert json.loads(next(lines).removeprefix("data: "))["version"] == 0
            id = http.post("/v1/bandits/shop/decisions").json()["decision_id"]
            path = f"/v1/bandits/shop/decisions/{id}/reward"
            assert http.put(path, json={"reward": 1}).json()["status"] == "learned"
            while json.loads(next(lines).removeprefix("data: "))["version"] == 0:
                pass
        items = [{"bandit": "shop", "request_id": str(number)} for number in range(1000)]
        body = json.dumps({"items": items}).ljust(MAX_BATCH_BYTES - 1000)
        batch = http.post(
            "/v1/decisions:batch", content=body, headers={"Content-Type": "application/json"}
        )
        assert batch.status_code == 200
        assert len(batch.json()["items"]) == 1000
        # Caddy 2.6 answers 502 if the service refuses the body before all of it was sent.
        assert http.post("/v1/decisions:batch", content=" " * 2**21).status_code in (413, 502)
        assert http.get("/metrics").status_code == metrics
        assert http.get("/").status_code == 200
        answer = httpx.get(f"http://localhost:{plain}/v1/bandits")
        assert answer.status_code in (301, 308)
        assert answer.headers["location"].startswith("https://localhost")
