"""The demo: it learns, and its server ends with it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from globalbandits.service.stores import SQLiteStore


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM on Windows")
def test_the_demo_ends_its_server_on_sigterm(tmp_path):
    script = Path(__file__).parents[2] / "examples" / "demo" / "watch.py"
    options = ["--db", str(tmp_path / "demo.db"), "--port", "0", "--pause", "0.05"]
    demo = subprocess.Popen(
        [sys.executable, str(script), *options], stdout=subprocess.PIPE, text=True
    )
    try:
        address = re.search(r"open (http://\S+)/ and watch", demo.stdout.readline())[1]
        assert httpx.get(f"{address}/health", timeout=30).status_code == 200
        demo.send_signal(signal.SIGTERM)
        demo.communicate(timeout=60)
    finally:
        demo.kill()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/health")
    SQLiteStore(tmp_path / "demo.db").close()  # the lock is free


def test_the_demo_learns(tmp_path):
    script = Path(__file__).parents[2] / "examples" / "demo" / "watch.py"
    options = [
        "--db",
        str(tmp_path / "demo.db"),
        "--port",
        "0",
        "--customers",
        "12",
        "--pause",
        "0",
    ]
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("shop", "trial", "market"):
        assert re.search(rf"^{name}: 12 rewards, estimate", done.stdout, re.MULTILINE)
    store = SQLiteStore(tmp_path / "demo.db", read_only=True)
    assert len(store.bandits()) == 3
    store.close()
