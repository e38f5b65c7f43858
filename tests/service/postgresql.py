"""A PostgreSQL server in a temporary folder, and a way to cut the connection to it."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path


class NoServer(Exception):  # noqa: N818 (not an error of a program)
    """Why there is none."""


def programs() -> Path:
    """The folder of the server's programs.

    Raises:
        NoServer: if it is not installed.
    """
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        raise NoServer("no PostgreSQL server here: apt-get install postgresql")
    return found[-1].parent if found else Path(str(on_path)).parent


def _version(program: Path) -> float:
    return float(program.parts[-3])


class Server:
    """A server with safe settings (fsync), until it is closed or this process ends."""

    def __init__(self) -> None:
        self._programs = programs()
        self._as = _as_another()
        self.folder = Path(tempfile.mkdtemp(prefix="globalbandits-postgresql-"))
        self._process: subprocess.Popen[bytes] | None = None
        try:
            if os.getuid() == 0:
                shutil.chown(self.folder, "postgres", "postgres")
            options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync"]
            command = [
                str(self._programs / "initdb"),
                "--pgdata",
                str(self.folder / "data"),
                *options,
            ]
            subprocess.run([*self._as, *command], check=True, capture_output=True, cwd="/")
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        """By its socket in the folder."""
        return f"postgresql://postgres@/postgres?host={self.folder}&port={self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        import psycopg

        settings = (
            "fsync=on",
            "shared_buffers=16MB",
            "max_wal_size=64MB",
            "log_min_messages=panic",
        )
        command = [str(self._programs / "postgres"), "-D", str(self.folder / "data")]
        command += ["-k", str(self.folder), "-h", "127.0.0.1", "-p", str(self.port)]
        command += [word for setting in settings for word in ("-c", setting)]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen([*self._as, *command], cwd="/", stdout=log, stderr=log)
        for _ in range(600):
            try:
                psycopg.connect(self.address).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        raise NoServer(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-500:]}")

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop it as ``pg_ctl stop -m immediate`` does: nothing is written out."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def run(self, program: str, *arguments: str) -> bytes:
        """The output of one of its programs, such as pg_dump."""
        return subprocess.run(
            [self._programs / program, *arguments], check=True, capture_output=True
        ).stdout

    def close(self) -> None:
        """End it, and remove the folder."""
        self.stop()
        shutil.rmtree(self.folder)


def _as_another() -> list[str]:
    """PostgreSQL does not run as root. And it ends when this process does, in whatever way."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        if os.getuid() == 0:
            raise NoServer("PostgreSQL does not run as root, and there is no setpriv")
        return []
    if os.getuid() != 0:
        return [setpriv, "--pdeathsig", "QUIT"]
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        raise NoServer("PostgreSQL does not run as root, and there is no user postgres") from None
    user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
    return [setpriv, *user, "--pdeathsig", "QUIT"]


class Line:
    """A line to a server's port that can be cut, or fall silent."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._broken = False
        self._silent = threading.Event()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._broken:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self._to))
                except OSError:  # the server is down
                    near.close()
                    continue
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if not self._silent.is_set():
                    other.sendall(data)
        _end(one)
        _end(other)

    def cut(self) -> None:
        """End every connection, and let none begin."""
        self._broken = True
        for end in self._open:
            _end(end)
        self._open.clear()

    def fall_silent(self) -> None:
        """Drop all data in both directions without closing a connection."""
        self._silent.set()

    def restore(self) -> None:
        """Let connections begin again; those from before stay lost."""
        self.cut()
        self._silent.clear()
        self._broken = False

    def close(self) -> None:
        self.cut()
        _end(self._listener)
        self._listener.close()


def _end(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
