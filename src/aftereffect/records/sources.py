"""From whatever people keep their tables in to one polars frame: CSV, Parquet, pandas, polars, lists of dicts."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars

from aftereffect._files import read_regular
from aftereffect.errors import AftereffectError, shown

LARGEST = 2_000_000_000  # bytes: records of ten thousand years of weekly rounds with a thousand arms have half of that
SEPARATORS = ",;\t|"
COMMENT = "#"  # lines of a CSV file that begin so are not read
DECIMAL_COMMA = r"^\s*(-?\d+),(\d+)\s*$"
PARQUET = (".parquet", ".pq")
EXCEL = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # what its files begin with, new and old


class Table(NamedTuple):
    """A table as it was given; `decimal_commas`: numbers in it are written so, and points may stand for thousands."""

    frame: polars.DataFrame
    decimal_commas: bool = False


def read_table(source: Any, encoding: str = "utf-8") -> Table:
    """The table as it is, text where the source is text; columns go by their names without spaces around them and must differ."""
    found = _from_file(Path(source), encoding) if isinstance(source, (str, os.PathLike)) else Table(_frame(source))
    frame = found.frame
    names = [name.strip() for name in frame.columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise AftereffectError(f"records have two columns called {twice[0]!r}")
    return found._replace(frame=frame.rename(dict(zip(frame.columns, names, strict=True))))


def _frame(source: Any) -> polars.DataFrame:
    if isinstance(source, polars.LazyFrame):
        return source.collect()
    if isinstance(source, polars.DataFrame):
        return source
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        return _from_pandas(source)
    if isinstance(source, Mapping):
        return _from_columns(dict(source))
    if isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
        names = list(dict.fromkeys(name for row in source for name in row))
        return _from_columns({name: [row.get(name) for row in source] for name in names})
    raise AftereffectError(
        "records must be a CSV or Parquet file, a pandas or polars frame or a list of dicts, got "
        + shown(source if not hasattr(source, "__len__") or len(source) < 20 else type(source).__name__)
    )


def _from_file(path: Path, encoding: str) -> Table:
    try:
        content = read_regular(path, LARGEST)
    except OSError as error:
        raise AftereffectError(f"records {str(path)!r} cannot be read: {error.strerror or error}") from None
    if path.suffix.lower() in PARQUET or content[:4] == b"PAR1":
        try:
            return Table(polars.read_parquet(io.BytesIO(content)))
        except (polars.exceptions.PolarsError, OSError) as error:
            raise AftereffectError(f"records {str(path)!r} are no Parquet file: {_first_line(error)}") from None
    return _from_csv(path, content, encoding)


def _from_csv(path: Path, content: bytes, encoding: str) -> Table:
    if content.startswith(EXCEL):
        raise AftereffectError(
            f"records {str(path)!r} are an Excel file: save it as CSV, or read it with pandas or polars and give the frame"
        )
    content = _as_utf8(path, content, encoding)
    header = next((line for line in content.decode().splitlines() if line.strip() and line[0] != COMMENT), "")
    if not header:
        raise AftereffectError(f"records {str(path)!r} are empty; a header and one row per round and arm are needed")
    separator = max(SEPARATORS, key=header.count)
    try:
        frame = polars.read_csv(io.BytesIO(content), separator=separator, infer_schema=False, comment_prefix=COMMENT)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise AftereffectError(f"records {str(path)!r} are no CSV table: {_first_line(error)}") from None
    commas = False
    if separator == ";":  # where the semicolon separates, the comma is a decimal point
        text = polars.col([name for name, kind in frame.schema.items() if kind == polars.String])
        commas = any(frame.select(text.str.contains(DECIMAL_COMMA).any()).row(0))
        frame = frame.with_columns(text.str.replace(DECIMAL_COMMA, "${1}.${2}"))
    return Table(frame, commas)


def _as_utf8(path: Path, content: bytes, encoding: str) -> bytes:
    """The file as UTF-8; where it is not, which line and which byte."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    try:
        return content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding).encode()
    except LookupError:
        raise AftereffectError(f"unknown encoding {encoding!r} (for example utf-8, latin-1, cp1252)") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AftereffectError(
            f"records {str(path)!r}, line {line}: byte 0x{content[error.start]:02x} is not {encoding}; "
            "save the file as UTF-8, or in Python say encoding='latin-1'"
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__


def _from_pandas(table: Any) -> polars.DataFrame:
    columns = [str(name) for name in table.columns]
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise AftereffectError(f"records have two columns called {twice[0]!r}")
    plain = {}
    for name, given in zip(columns, table.columns, strict=True):
        values = table[given]
        plain[name] = (
            values.to_numpy() if values.dtype.kind in "fiu" and values.dtype.name[0] in "fiu" else list(values)
        )
    return _from_columns(plain)


def _from_columns(columns: dict[Any, Any]) -> polars.DataFrame:
    """Columns of Python values; of mixed kinds, as text, so that what is wrong can be shown."""
    series = []
    for name, values in columns.items():
        if getattr(values, "ndim", 1) == 1 and getattr(getattr(values, "dtype", None), "kind", "O") in "fiub":
            series.append(polars.Series(str(name), values))
            continue
        if not hasattr(values, "__iter__"):
            raise AftereffectError(f"column {str(name)!r} must be a list of values, got {shown(values)}")
        cells = [None if _missing(value) else _local(value) for value in values]
        kinds = {type(value) for value in cells if value is not None}
        try:
            plain = len(kinds) <= 1 or kinds <= {int, float}
            made = polars.Series(str(name), cells if plain else list(map(_text, cells)), strict=False)
            series.append(made if made.dtype != polars.Object else polars.Series(str(name), list(map(_text, cells))))
        except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError):
            series.append(polars.Series(str(name), list(map(_text, cells)), dtype=polars.String))
    lengths = {column.name: len(column) for column in series}
    if len(set(lengths.values())) > 1:
        raise AftereffectError(f"records: columns must be equally long, got {lengths}")
    return polars.DataFrame(series)


def _missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _local(value: Any) -> Any:
    """A moment as the clock of its own zone showed it: a week begins there, not at Greenwich."""
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
