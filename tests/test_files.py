import pytest

from globalbandits._files import replacing


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
