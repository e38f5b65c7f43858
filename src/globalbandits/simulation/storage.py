"""Results in netCDF files.

The format has no 64-bit integers, so integers are stored in double precision, which is exact up to
2**53. A checksum over all numbers and the spec detects a damaged file.
"""

import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._files import replacing
from globalbandits.errors import ResultError

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "globalbandits simulation 1"


def save_result(dataset: "xr.Dataset", spec: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a dataset and its spec. A file is complete or absent."""
    whole = [str(name) for name, data in dataset.variables.items() if data.dtype.kind == "i"]
    stored = _convert(dataset, dict.fromkeys(whole, np.float64))
    text = json.dumps(spec, default=str)
    stored.attrs = {
        "format": FORMAT,
        "version": spec["version"],
        "spec": text,
        "whole_numbers": json.dumps(whole),
        "checksum": _checksum(dataset, text),
    }
    with replacing(path) as temporary:
        stored.to_netcdf(temporary, engine="scipy", format="NETCDF3_64BIT")


def load_result(path: str | os.PathLike[str]) -> tuple["xr.Dataset", dict[str, Any]]:
    """Read a file of `save_result`; raise `ResultError` for any other file."""
    file = Path(path)
    if not file.is_file():
        raise ResultError(f"result file must exist, got {str(path)!r}")
    stored = _read(file)
    if stored.attrs.get("format") != FORMAT:
        raise ResultError(f"result file must be a saved simulation, got {str(path)!r}")
    try:
        text = stored.attrs["spec"]
        whole = json.loads(stored.attrs["whole_numbers"])
        texts = [str(name) for name, data in stored.variables.items() if data.dtype.kind == "O"]
        dataset = _convert(stored, dict.fromkeys(whole, np.int64) | dict.fromkeys(texts, np.str_))
        if _checksum(dataset, text) != stored.attrs["checksum"]:
            raise ValueError("the checksum differs")
        return dataset, json.loads(text)
    except (KeyError, ValueError) as error:
        raise ResultError(f"result file must be whole, got a damaged {str(path)!r}") from error


def _read(file: Path) -> "xr.Dataset":
    """Read a netCDF file into memory."""
    import xarray as xr

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a file that turns out not to be netCDF
            with xr.open_dataset(file, engine="scipy", mmap=False) as stored:
                return stored.load()
    except Exception as error:  # the reader may raise anything
        raise ResultError(f"result file must be netCDF, got a damaged {str(file)!r}") from error


def _convert(dataset: "xr.Dataset", types: dict[str, type[np.generic]]) -> "xr.Dataset":
    """A copy without attributes, with some variables and coordinates converted."""
    import xarray as xr

    def columns(names: Any) -> dict[Any, Any]:
        return {
            name: (
                dataset[name].dims,
                dataset[name].values.astype(types.get(str(name), dataset[name].dtype)),
            )
            for name in names
        }

    with np.errstate(invalid="ignore"):  # in a damaged file, which its checksum detects
        return xr.Dataset(columns(dataset.data_vars), columns(dataset.coords))


def _checksum(dataset: "xr.Dataset", text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(str(name) for name in dataset.variables):
        variable = dataset[name]
        digest.update(f"{name} {variable.dims} {variable.shape}".encode())
        if variable.dtype.kind in "fi":
            digest.update(np.ascontiguousarray(variable.values.astype("<f8")).tobytes())
        else:
            digest.update(json.dumps([str(value) for value in variable.values.tolist()]).encode())
    return digest.hexdigest()
