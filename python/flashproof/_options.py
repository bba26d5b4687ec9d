"""The options of this package: rows of the table that every door of flashproof takes its own from (reference/system/option_rows.cc)."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, Union

from . import _flashproof
from ._text import said, utf8


def options_of(command: str) -> List[Dict[str, Any]]:
    """name, type (empty: a flag), help, range, number, repeats."""
    return _flashproof.call("options", command=command)


def help_of(command: str, name: str) -> str:
    return next(row["help"] for row in options_of(command) if row["name"] == name)


def number(command: str, option: str, value: Any, shown: str = "") -> Union[int, float]:
    """The value of an argument, where the option's range has it. Throws UsageError in the words of every door."""
    if isinstance(value, str) and shown:
        text = utf8(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e30:
        text = repr(int(value) if isinstance(value, int) else float(value))
    else:
        text = said(value)
    return _flashproof.call("option_number", command=command, option=option, shown=shown or option[2:], text=text)


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    for row in options_of(command):
        help = row["help"].replace("%", "%%")
        if not row["type"]:
            parser.add_argument(row["name"], action="store_true", help=help)
        else:
            metavar = f"{row['type']}:{row['range']}" if row["range"] else row["type"]
            parser.add_argument(row["name"], metavar=metavar, help=help, action="append" if row["repeats"] else "store")


def numbers_of(given: Dict[str, Any], command: str) -> Dict[str, Any]:
    """What was parsed, its numbers as such. Throws UsageError as the other commands complain."""
    read = dict(given)
    try:
        for row in options_of(command):
            key = row["name"][2:].replace("-", "_")
            if row["number"] and read.get(key) is not None:
                read[key] = number(command, row["name"], read[key], shown=row["name"])
    except _flashproof.UsageError as error:
        raise _flashproof.UsageError(f"{error} (see --help)") from None
    return read
