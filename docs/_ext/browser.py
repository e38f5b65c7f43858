"""Make the folder that the page "In a browser" runs Python from.

python docs/_ext/browser.py PYODIDE FOLDER

PYODIDE is the npm package of that name. The folder gets its files and ``core.zip``: this package
and lazy-loader, which are pure Python.
"""

import shutil
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("globalbandits", "lazy_loader")
RUNTIME = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)


def make_runtime(pyodide: Path, folder: Path) -> None:
    """Fill a folder with the runtime and the packages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in RUNTIME:
        shutil.copy(pyodide / name, folder)
    with zipfile.ZipFile(folder / "core.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            found = find_spec(package)
            assert found is not None, package
            assert found.origin is not None, package
            root = Path(found.origin).parent
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(root.parent))


if __name__ == "__main__":
    make_runtime(Path(sys.argv[1]), Path(sys.argv[2]))
