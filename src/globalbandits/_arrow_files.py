"""Tables as Parquet files and as files of Arrow's IPC format."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from globalbandits._extras import needs_extra
from globalbandits._files import replacing

PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (".arrow", ".feather")
ENDINGS = PARQUET_ENDINGS + ARROW_ENDINGS


def is_arrow_file(path: str | os.PathLike[str]) -> bool:
    """Whether the name of a file says that it holds a table of Parquet or Arrow.

    >>> is_arrow_file("shop.parquet"), is_arrow_file("shop.csv")
    (True, False)
    """
    return Path(path).name.lower().endswith(ENDINGS)


def write_tables(path: str | os.PathLike[str], tables: Iterable[Any]) -> None:
    """Write tables of PyArrow with the columns of the first one, one after the other.

    Args:
        path: the file; Arrow's IPC format if its name ends with .arrow or .feather, else Parquet.
        tables: at least one.
    """
    with replacing(path, durable=True) as temporary:
        rest = iter(tables)
        first = next(rest)
        with _open_writer(temporary, path, first.schema) as writer:
            writer.write_table(first)
            for table in rest:
                writer.write_table(table.cast(first.schema))


@contextmanager
def _open_writer(temporary: Path, path: str | os.PathLike[str], schema: Any) -> Iterator[Any]:
    with needs_extra("files"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    if Path(path).name.lower().endswith(ARROW_ENDINGS):
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            yield writer
    else:
        with pq.ParquetWriter(temporary, schema) as writer:
            yield writer
