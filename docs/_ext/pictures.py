"""Make the committed pictures again: run the code of documents, and keep what it draws.

python docs/_ext/pictures.py README.md docs/about/gallery.md docs/howto/browser.md
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "images"
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Run every Python block of the named documents, up to the last that writes a picture."""
    texts = [Path(name).read_text("utf-8") for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for text in texts:
            blocks = BLOCK.findall(text)
            last = max(number for number, code in enumerate(blocks) if ".svg" in code)
            names: dict[str, object] = {"__name__": "__example__"}
            for code in blocks[: last + 1]:
                exec(code, names)
        for picture in Path(folder).glob("*.svg"):
            shutil.copy(picture, IMAGES)
        os.chdir(IMAGES)  # the folder goes


if __name__ == "__main__":
    main()
