"""Make the committed pictures again: run the code of documents inside docs/images.

python docs/_ext/pictures.py README.md docs/gallery.md
"""

import os
import re
import sys
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "images"
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Run every Python block of the named documents, up to the last that writes a picture."""
    texts = [Path(name).read_text("utf-8") for name in sys.argv[1:]]
    os.chdir(IMAGES)
    for text in texts:
        blocks = BLOCK.findall(text)
        last = max(number for number, code in enumerate(blocks) if ".svg" in code)
        names: dict[str, object] = {"__name__": "__example__"}
        for code in blocks[: last + 1]:
            exec(code, names)


if __name__ == "__main__":
    main()
