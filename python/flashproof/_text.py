"""Text from outside – names, paths, messages – on its way to a terminal, into a message, a command or C++."""

from __future__ import annotations

import os
import shlex
from typing import Any

from ._flashproof import UsageError


def shown(text: str) -> str:
    """Of each line what can be seen: nothing that steers a terminal, or the direction of text."""
    return "\n".join("".join(c if c.isprintable() else "?" for c in line) for line in text.split("\n"))


def line(text: Any, limit: int = 300) -> str:
    """On one line that can be shown; str() of what it is given may raise."""
    try:
        text = str(text)
    except Exception:
        text = f"(a {type(text).__name__} whose text raises)"
    return shown(" ".join(text[:8 * limit].split()))[:limit]


def said(value: Any, limit: int = 60) -> str:
    """As it stands in a message: a text in quotes, anything else as its line()."""
    return repr(value[:limit]) if type(value) is str else line(value, limit)


def utf8(text: str) -> str:
    """What C++ can take: an exception's text may hold lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def utf8_argument(what: str, text: str) -> str:
    """An argument as C++ takes it: a name that is no UTF-8 would be another one there. Throws UsageError."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{what} {said(text)}: legal UTF-8") from None
    return text


def path_argument(what: str, given: Any, kind: str) -> str:
    """The path of a `kind`, as text. Throws UsageError for what cannot be one on Linux."""
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(path, str) or "\0" in path:
        raise UsageError(f"{what} {said(given)}: legal the path of a {kind}")
    if len(utf8_argument(what, path).encode("utf-8")) > 4000 or any(len(part.encode("utf-8")) > 255 for part in path.split("/")):
        raise UsageError(f"{what} {said(path)}: {len(path)} characters, legal a path of at most 4000 bytes, 255 a name")
    return path


def shell_word(text: str) -> str:
    """A word of a command that is printed for copying into a shell (bash, zsh): what shown() does not keep as $'\\xNN'."""
    if shown(text) == text and "\n" not in text:
        return shlex.quote(text)
    try:
        given = os.fsencode(text)
    except UnicodeEncodeError:  # no path at all
        given = utf8(text).encode("utf-8")
    kept = "".join(chr(b) if 0x20 <= b < 0x7F and b not in b"'\\" else f"\\x{b:02x}" for b in given)
    return f"$'{kept}'"
