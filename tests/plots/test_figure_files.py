import matplotlib
import pytest
from matplotlib.figure import Figure

from globalbandits.errors import ResultError
from globalbandits.plots import Line, band_figure, save_figure

MAGIC = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


def figure():
    return band_figure([Line("a", [0, 1], [0, 1])], xlabel="x", ylabel="y")


@pytest.mark.parametrize("suffix", [*MAGIC, ".PNG"])
def test_the_ending_chooses_the_format_and_the_bytes_are_always_the_same(tmp_path, suffix):
    first = save_figure(figure(), tmp_path / f"one{suffix}")
    second = save_figure(figure(), str(tmp_path / "deep" / f"two{suffix}"))
    content = first.read_bytes()
    assert content.startswith(MAGIC[suffix.lower()])
    assert content == second.read_bytes()


def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ResultError, match=r"must end in \.svg, \.png or \.pdf, got '.*out\.gif'"):
        save_figure(figure(), tmp_path / "out.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_cannot_be_drawn_leaves_the_old_file(tmp_path, monkeypatch):
    path = save_figure(figure(), tmp_path / "out.svg")
    before = path.read_bytes()

    def fail(self, target, **options):
        target.write_text("half")
        raise OSError("no space left")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="no space left"):
        save_figure(figure(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_drawing_leaves_the_settings_of_the_process_alone(tmp_path):
    before = dict(matplotlib.rcParams)
    save_figure(figure(), tmp_path / "out.png")
    assert dict(matplotlib.rcParams) == before
