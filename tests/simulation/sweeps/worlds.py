"""Small specs that are quick to play, and what a folder holds."""

from pathlib import Path

SPEC = {
    "model": {"mean": "arm * (1 - arm*theta)**2", "arms": [0.4, 0.6, 0.8]},
    "environment": {"theta": 0.4},
    "policies": {"even": "uniform", "first": {"policy": "explore_then_commit"}},
    "horizon": 40,
    "runs": 5,
    "checkpoints": 4,
}
GRID = {"environment.theta": [0.2, 0.4, 0.6], "horizon": [20, 40]}


def contents(folder):
    """Every file of a folder with its bytes."""
    root = Path(folder)
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }
