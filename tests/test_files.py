"""Files are replaced whole: by threads, by processes, through links, with their permissions."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from globalbandits import _files
from globalbandits._files import replacing


def save(target, content):
    with replacing(target) as temporary:
        temporary.write_bytes(content)


def test_the_new_content_takes_the_place_of_the_old(tmp_path):
    target = tmp_path / "deep" / "note.txt"
    for content in ("old", "new"):
        with replacing(target) as temporary:
            assert temporary.suffix == ".txt"
            temporary.write_text(content)
        assert target.read_text() == content
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_leaves_the_old_content_and_no_litter(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("old")

    def fail_half_way():
        with replacing(target) as temporary:
            temporary.write_text("ne")
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        fail_half_way()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_threads_that_save_to_one_path_tear_nothing(tmp_path):
    target = tmp_path / "note.bin"
    contents = [bytes([65 + number]) * 50_000 for number in range(8)]
    save(target, contents[0])
    errors, torn, n_reads, writing = [], [], 0, threading.Event()

    def write(content):
        try:
            for _ in range(30):
                with replacing(target) as temporary, open(temporary, "wb") as file:
                    file.write(content[:20_000])
                    file.flush()
                    file.write(content[20_000:])
        except Exception as error:
            errors.append(error)

    def read():
        nonlocal n_reads
        while not writing.is_set():
            content = target.read_bytes()
            n_reads += 1
            if content not in contents:
                torn.append(len(content))

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=[content]) for content in contents]
    for thread in [reader, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    writing.set()
    reader.join()
    assert (errors, torn) == ([], [])
    assert n_reads > 10
    assert list(tmp_path.iterdir()) == [target]


WRITER = """
import sys
from globalbandits._files import replacing
for _ in range(60):
    with replacing(sys.argv[1]) as temporary:
        temporary.write_bytes(sys.argv[2].encode() * 50_000)
"""


def test_processes_that_save_to_one_path_tear_nothing(tmp_path):
    target = tmp_path / "note.bin"
    letters = "abc"
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(target), letter]) for letter in letters
    ]
    n_reads = 0
    while any(process.poll() is None for process in processes):
        if target.exists():
            content = target.read_bytes()
            assert content in [letter.encode() * 50_000 for letter in letters]
            n_reads += 1
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert n_reads > 0
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_permissions_of_an_existing_file_are_kept(tmp_path, mode):
    target = tmp_path / "note.txt"
    target.write_text("old")
    target.chmod(mode)
    with replacing(target) as temporary:
        # Until it is in place, the new content is readable only to users who could read the old.
        assert temporary.stat().st_mode & 0o077 & ~mode == 0
        temporary.write_text("new")
    assert target.stat().st_mode & 0o777 == mode
    assert target.read_text() == "new"


def test_a_new_file_gets_the_permissions_of_any_new_file(tmp_path):
    save(tmp_path / "ours", b"x")
    (tmp_path / "theirs").write_bytes(b"x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_what_a_link_points_at_is_replaced(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "note.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    save(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    target.unlink()  # a link that points at nothing yet
    save(link, b"newer")
    assert link.is_symlink()
    assert target.read_bytes() == b"newer"


STOPPED = """
import sys, time
from globalbandits._files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print(temporary, flush=True)
    time.sleep(60)
"""


def test_temporaries_of_killed_processes_are_removed(tmp_path):
    target = tmp_path / "note.txt"
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(target)], stdout=subprocess.PIPE, text=True
    )
    with process.stdout:
        left = process.stdout.readline().strip()
        save(target, b"while it lives")
        assert os.path.exists(left)
        process.send_signal(signal.SIGKILL)
        process.wait()
    foreign = tmp_path / ".globalbandits-00000000-1-0123456789abcdef.txt"  # of another machine
    others = [foreign, tmp_path / ".globalbandits-note", tmp_path / ".1-note.txt"]
    for other in others:
        other.write_text("not ours to remove")
    assert os.path.exists(left)
    save(target, b"new")
    assert not os.path.exists(left)
    assert sorted(tmp_path.iterdir()) == sorted([target, *others])


def test_content_and_name_are_on_the_disk_before_it_ends(tmp_path, monkeypatch):
    flushed = []
    flush = os.fsync

    def watch(handle):
        flushed.append(os.readlink(f"/proc/self/fd/{handle}"))
        flush(handle)

    monkeypatch.setattr(os, "fsync", watch)
    with replacing(tmp_path / "note.txt") as temporary:
        temporary.write_text("new")
    assert flushed == [str(temporary), str(tmp_path)]
    with replacing(tmp_path / "note.txt", durable=False) as temporary:
        temporary.write_text("newer")
    assert len(flushed) == 2


def test_folders_and_what_is_no_file_are_refused_before_anything_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        save(tmp_path / "folder", b"x")
    # A pipe instead of a device: if this failed, root would replace a device of the machine.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"Not a regular file: '.*pipe'"):
        save(tmp_path / "pipe", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_name_as_long_as_names_can_be(tmp_path):
    for name in ("n" * 251 + ".txt", "n." + "s" * 250):
        save(tmp_path / name, b"x")
        assert (tmp_path / name).read_bytes() == b"x"


def test_temporaries_of_a_process_of_unknown_state_are_kept(tmp_path, monkeypatch):
    left = tmp_path / f".globalbandits-{_files._machine()}-9999999999-0123456789abcdef"
    left.write_text("")
    _files.remove_abandoned(tmp_path)
    assert left.exists()
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")  # where only the age decides
        _files.remove_abandoned(tmp_path)
        assert left.exists()
        os.utime(left, (1e9, 1e9))
        _files.remove_abandoned(tmp_path)
    assert not left.exists()
