"""Compiled code on disk: read only from files that no other user can write, and never an error."""

import errno
import hashlib
import os
import pickle
import pwd
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from globalbandits.compiling import cache, compiler
from globalbandits.compiling.compiler import compile_kernel


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, on disk and in memory."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "deep" / "cache"))
    monkeypatch.setattr(cache, "_WARNED", set(), raising=False)
    forget_memory(monkeypatch)
    return tmp_path / "deep" / "cache"


def forget_memory(monkeypatch):
    monkeypatch.setattr(compiler, "_KERNELS", {})
    monkeypatch.setattr(compiler, "_HELPERS", {})


def kernel(x):
    return x + 0.5


def compile_again(monkeypatch):
    """Compile as a new process would; how many hits and saves there were."""
    forget_memory(monkeypatch)
    assert compile_kernel(kernel, 1.0)(1.0) == 1.5
    (found,) = compiler._KERNELS.values()
    return found.n_loaded, found.n_saved


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022])
def test_folder_and_files_are_the_users_alone_whatever_the_umask(folder, monkeypatch, umask):
    before = os.umask(umask)
    try:
        assert compile_again(monkeypatch) == (0, 1)
    finally:
        os.umask(before)
    (file,) = folder.iterdir()
    assert (mode_of(folder.parent), mode_of(folder), mode_of(file)) == (0o700, 0o700, 0o600)
    assert compile_again(monkeypatch) == (1, 0)


class MaliciousCode:
    """What writes a mark into the working directory when it is unpickled."""

    def __reduce__(self):
        return Path("poisoned").write_text, ("by a cached file",)


def write_malicious_code(file):
    body = pickle.dumps(MaliciousCode())
    file.write_bytes(hashlib.sha256(body).digest() + body)


@pytest.fixture
def malicious_file(folder, monkeypatch, tmp_path):
    """A cache whose only file runs malicious code if it is read."""
    monkeypatch.chdir(tmp_path)
    compile_again(monkeypatch)
    (file,) = folder.iterdir()
    write_malicious_code(file)
    return file


def test_a_malicious_file_would_run_in_a_trusted_folder(malicious_file, monkeypatch):
    compile_again(monkeypatch)
    assert Path("poisoned").exists()


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_others_may_write_to_is_not_used(malicious_file, monkeypatch, mode):
    malicious_file.parent.chmod(mode)
    with pytest.warns(RuntimeWarning, match=r"compiled code is not kept: .*deep/cache belongs to"):
        assert compile_again(monkeypatch) == (0, 0)
    assert compile_again(monkeypatch) == (0, 0)  # reported once: a second warning would be an error
    assert not Path("poisoned").exists()


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_others_may_write_to_is_replaced(malicious_file, monkeypatch, mode):
    malicious_file.chmod(mode)
    assert compile_again(monkeypatch) == (0, 1)
    assert not Path("poisoned").exists()
    assert mode_of(malicious_file) == 0o600
    assert compile_again(monkeypatch) == (1, 0)


def test_a_folder_of_another_user_is_not_used(malicious_file, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert compile_again(monkeypatch) == (0, 0)
    assert not Path("poisoned").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_replaced(malicious_file, monkeypatch):
    os.chown(malicious_file, 12345, 12345)
    assert compile_again(monkeypatch) == (0, 1)
    assert not Path("poisoned").exists()
    assert malicious_file.stat().st_uid == 0


def test_a_link_is_replaced_and_what_it_points_at_is_left(malicious_file, monkeypatch, tmp_path):
    malicious_file.rename(tmp_path / "elsewhere")
    malicious_file.symlink_to(tmp_path / "elsewhere")
    content = (tmp_path / "elsewhere").read_bytes()
    assert compile_again(monkeypatch) == (0, 1)
    assert not Path("poisoned").exists()
    assert not malicious_file.is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == content


def test_a_damaged_file_is_replaced(folder, monkeypatch):
    compile_again(monkeypatch)
    (file,) = folder.glob("*.nbc")
    whole = file.read_bytes()
    noise = hashlib.sha256(b"noise").digest() + b"noise"  # right checksum, no pickle
    for damaged in (b"", whole[:100], whole[:-1], whole[:40] + b"x" + whole[41:], noise):
        file.write_bytes(damaged)
        assert compile_again(monkeypatch) == (0, 1)
        assert compile_again(monkeypatch) == (1, 0)


def test_a_file_that_is_a_folder_is_no_error(folder, monkeypatch):
    compile_again(monkeypatch)
    (file,) = folder.glob("*.nbc")
    file.unlink()
    file.mkdir()
    assert compile_again(monkeypatch) == (0, 0)


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path, folder, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file" / "cache"))
    assert compile_again(monkeypatch) == (0, 0)


def test_a_full_disk_is_no_error(folder, monkeypatch):
    def fail(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", fail)
    assert compile_again(monkeypatch) == (0, 0)
    assert list(folder.iterdir()) == []


def test_code_that_cannot_be_pickled_is_no_error(folder, monkeypatch):
    def fail(value):
        raise TypeError("cannot pickle")

    monkeypatch.setattr(compiler, "dumps", fail)
    assert compile_again(monkeypatch) == (0, 0)


def test_a_file_that_cannot_be_touched_is_still_read(folder, monkeypatch):
    compile_again(monkeypatch)

    def fail(path):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "utime", fail)
    assert compile_again(monkeypatch) == (1, 0)


def test_old_files_are_removed(folder, monkeypatch):
    monkeypatch.setattr(cache, "MAX_FILES", 2)
    folder.mkdir(parents=True)
    for age in (50, 10):
        (folder / f"{age}.nbc").write_bytes(b"")
        os.utime(folder / f"{age}.nbc", (1e9 - age, 1e9 - age))
    assert compile_again(monkeypatch) == (0, 1)
    assert not (folder / "50.nbc").exists()
    assert (folder / "10.nbc").exists()
    assert len(list(folder.glob("*.nbc"))) == 2


@pytest.fixture
def places(monkeypatch):
    """No environment variable names a folder for the cache."""
    for variable in (cache.VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return monkeypatch


def test_where_the_cache_is(places, tmp_path):
    places.setenv("HOME", str(tmp_path))
    assert cache.cache_directory() == tmp_path / ".cache" / "globalbandits"
    places.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_directory() == tmp_path / "xdg" / "globalbandits"
    places.setattr(sys, "platform", "darwin")
    assert cache.cache_directory() == tmp_path / "Library" / "Caches" / "globalbandits"
    places.setattr(sys, "platform", "win32")
    assert cache.cache_directory() == tmp_path / "AppData" / "Local" / "globalbandits"
    places.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.cache_directory() == tmp_path / "local" / "globalbandits"
    places.setenv(cache.VARIABLE, "/elsewhere")
    assert str(cache.cache_directory()) == "/elsewhere"


@pytest.mark.parametrize("place", ["", "cache", "./cache", "~/cache"])
def test_empty_and_relative_places_are_passed_over(places, tmp_path, place):
    places.setenv("HOME", str(tmp_path))
    for variable in (cache.VARIABLE, "XDG_CACHE_HOME"):
        places.setenv(variable, place)
        assert cache.cache_directory() == tmp_path / ".cache" / "globalbandits"


@pytest.mark.parametrize("home", ["", "home"])
def test_an_invalid_home_gives_no_cache(places, home):
    places.setenv("HOME", home)
    assert cache.cache_directory() is None


def test_without_a_home_there_is_no_cache(places):
    def unknown_user(uid):
        raise KeyError(uid)

    places.delenv("HOME")
    places.setattr(pwd, "getpwuid", unknown_user)
    assert cache.cache_directory() is None
    assert compile_again(places) == (0, 0)


SCRIPT = """
import pwd
def unknown_user(uid):
    raise KeyError(uid)
pwd.getpwuid = unknown_user  # as for a user that the system does not know

import globalbandits as gb
model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
result = gb.simulate(gb.Environment(model, 0.4), [gb.Uniform()], 10, runs=2)
print(int(result.dataset["pulls"].sum()))
"""


@pytest.mark.parametrize("home", ["/somewhere", None])
def test_simulations_without_a_cache_leave_nothing_in_the_working_folder(tmp_path, home):
    environment = {**os.environ, "XDG_CACHE_HOME": ""}
    for variable in (cache.VARIABLE, "HOME"):
        environment.pop(variable, None)
    if home is not None:
        environment["HOME"] = str(tmp_path) + home
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.stdout, done.returncode) == ("20\n", 0), done.stderr
    left = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.nbc")}
    assert left == ({"somewhere"} if home else set())
