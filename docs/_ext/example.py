"""The Python of a document as one file, for type checkers.

python docs/_ext/example.py README.md build/readme_example.py
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Write every Python block of the first file, in order, into the second."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(BLOCK.findall(source.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
