"""`globalbandits serve` and `globalbandits token`: what they refuse, print and leave behind."""

import os
import signal
import subprocess
import sys

import httpx
import pytest

from globalbandits.cli.program import main
from globalbandits.service.server import bind
from globalbandits.service.stores import SQLiteStore


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "host must be a loopback address where there is no token"),
        (["--host", "0.0.0.0", "--token", "short"], "token must have at least 16 characters"),
        (["--token", "short"], "token must have at least 16 characters, got 5"),
        (["--host", "192.0.2.1", "--token", "x" * 20], "to listen on, got 192.0.2.1:0: Cannot"),
        (["--host", "no.invalid", "--token", "x" * 20], "to listen on, got no.invalid:0: "),
        (["--port", "70000"], "port must be at most 65535, got 70000"),
        (["--most-open", "0"], "most-open must be at least 1, got 0"),
        (["--most-bandits", "0"], "most-bandits must be at least 1, got 0"),
        (["--max-loaded", "9"], "max-loaded must be at least 10, got 9"),
        (["--deadline", "5w"], "deadline must be a number with d, h, m or s, got '5w'"),
        (["--keep", "x"], "keep must be a number with d, h, m or s, got 'x'"),
        (["--rate", "0"], "rate must be positive, got 0.0"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message, tmp_path, capsys):
    assert run("serve", "--db", tmp_path / "log.db", "--port", "0", *arguments) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""  # no address is printed
    SQLiteStore(tmp_path / "log.db").close()  # the lock is free


def test_an_occupied_port_is_named(tmp_path, capsys):
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert run("serve", "--db", tmp_path / "log.db", "--port", port) == 2
    assert f"must be free to listen on, got 127.0.0.1:{port}: Address" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_named(tmp_path, capsys):
    for command in (["serve", "--db"], ["replay"], ["token", "create"]):
        assert run(*command, tmp_path / "nowhere" / "log.db") == 2
        said = capsys.readouterr().err
        assert "nowhere/log.db" in said
        assert "Errno" not in said


def test_a_foreign_file_is_not_served(tmp_path, capsys):
    (tmp_path / "log.db").write_text("not a database")
    assert run("serve", "--db", tmp_path / "log.db") == 2
    assert "must be an SQLite file of globalbandits" in capsys.readouterr().err
    assert (tmp_path / "log.db").read_text() == "not a database"


def test_tokens_are_printed_once_and_kept_as_hashes(tmp_path, capsys):
    path = tmp_path / "log.db"
    assert run("token", "create", path, "--role", "admin", "--tenant", "acme", "--label", "x") == 0
    token = capsys.readouterr().out.strip()
    assert token.startswith("gb_")
    assert token.encode() not in path.read_bytes()
    store = SQLiteStore(path)
    (row,) = store.tokens()
    assert (row.tenant, row.role, row.label) == ("acme", "admin", "x")
    assert run("token", "create", path) == 2  # another process has it open
    assert "in use by process" in capsys.readouterr().err
    store.close()
    assert run("token", "create", path, "--role", "king") == 2
    assert "role must be one of read, write, admin, got 'king'" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM on Windows")
def test_the_printed_commands_work(tmp_path):
    """Start with the example, run the three printed commands, and stop."""
    code = "from globalbandits.cli import main; main()"
    server = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0", "--example", "--db", "log.db"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = [server.stdout.readline() for _ in range(4)]
        _follow(*lines)
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=60)
    finally:
        server.kill()
        server.communicate()
    assert errors == ""
    store = SQLiteStore(tmp_path / "log.db")
    assert store.bandits()[0].version == 1
    assert [row.version for row in store.snapshots(1)] == [1]
    store.close()


def _follow(heading, create, decide, reward):
    """Run the printed commands without curl."""
    address = heading.split(" at ")[1].split(";")[0]
    bandit = f"{address}/v1/bandits/example"
    assert create.startswith(f"  curl -X PUT {bandit} -H")
    assert decide == f"  curl -X POST {bandit}/decisions\n"
    assert reward.startswith(f"  curl -X PUT {bandit}/decisions/DECISION_ID/reward")
    body, head = create.split(" -d ")[1].strip().strip("'"), {"Content-Type": "application/json"}
    with httpx.Client(transport=httpx.HTTPTransport(retries=20), timeout=60) as http:
        assert http.put(bandit, content=body, headers=head).status_code == 200
        id = http.post(f"{bandit}/decisions").json()["decision_id"]
        answer = http.put(f"{bandit}/decisions/{id}/reward", json={"reward": 0.3})
        assert answer.status_code == 200


def test_tokens_are_listed_and_revoked(tmp_path, capsys):
    path = tmp_path / "log.db"
    run("token", "create", path, "--role", "admin", "--label", "first one")
    run("token", "create", path, "--role", "read", "--tenant", "acme")
    first, second = capsys.readouterr().out.split()
    assert run("token", "list", path) == 0
    said = capsys.readouterr().out
    ids = [token.split("_")[1] for token in (first, second)]
    lines = {line.split()[0]: line for line in said.splitlines()}
    assert lines.keys() == set(ids)
    assert " main admin since " in lines[ids[0]]
    assert lines[ids[0]].endswith(" first one")
    assert " acme read since " in lines[ids[1]]
    assert not any(token.split("_", 2)[2] in said for token in (first, second))
    assert run("token", "revoke", path, ids[0]) == 0
    assert run("token", "revoke", path, ids[0]) == 2
    assert f"id must be the id of a token, got '{ids[0]}'" in capsys.readouterr().err
    store = SQLiteStore(path)
    assert [row.id for row in store.tokens()] == [ids[1]]
    store.close()
