"""flashproof FILE.py:FUNCTION or MODULE:FUNCTION, also as python3 -m flashproof: check() from a shell, and what the replay lines run."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import runpy
import sys
from typing import Any, Callable, List, NoReturn, Optional

from . import InfrastructureError, UsageError, check
from ._block import block
from ._flashproof import call
from ._options import add_options, numbers_of
from ._text import line, said


def load(where: str) -> Callable[..., Any]:
    """The callable of FILE.py:NAME or MODULE:NAME, NAME with dots where it is an attribute's."""
    source, _, name = where.rpartition(":")
    if not source or not name:
        raise UsageError(f"{said(where, 80)}: must be FILE.py:FUNCTION or MODULE:FUNCTION")
    if source.endswith(".py") and not os.path.isfile(source):
        raise UsageError(f"{said(source, 80)}: no such file")
    sys.path.insert(0, os.getcwd())  # a file's neighbours, too; python3 -m puts it there, a script does not
    try:
        if source.endswith(".py"):
            found: Any = argparse.Namespace(**runpy.run_path(source))
        else:
            found = importlib.import_module(source)
    except (Exception, SystemExit) as error:  # the user's own file: 1 would say that the kernel has findings
        raise UsageError(f"{said(source, 80)}: not loaded, {type(error).__name__}: {line(error)}") from None
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except Exception:  # what is asked may raise what it likes
            raise UsageError(f"{said(source, 80)}: has no {said(name, 80)}") from None
    return found


class _Parser(argparse.ArgumentParser):
    """argparse's own error is the whole usage, and hands on what it was given as it is."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"flashproof: {line(message)}; --help lists what is legal\n")


def _complain(error: object) -> None:
    print(f"flashproof: {line(error, 2000)}", file=sys.stderr)


def main(arguments: Optional[List[str]] = None) -> int:
    """0: no findings; 1: findings; 2: an argument is wrong; 3: the machine failed; 4: no findings, but too little was decided."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is told its number
    parser = _Parser(prog="python3 -m flashproof", description=__doc__)
    parser.add_argument("function", metavar="FILE.py:FUNCTION")
    add_options(parser, "python")
    parser.add_argument("--kernel", help=argparse.SUPPRESS)  # a replay line names the one kernel that there is
    options = vars(parser.parse_args(arguments))
    where, junit, path = options.pop("function"), options.pop("junit"), options.pop("json")
    options.pop("kernel")
    verbose = options.pop("verbose")
    options["families"], options["laws"] = options.pop("family"), options.pop("law")
    options["deterministic"] = not options.pop("not_deterministic")
    replayed = options.pop("replay")
    try:
        options = numbers_of(options, "python")
        if replayed:
            options.update(case=replayed, measured=0, cases=1)
        for declared in ("arithmetic", "semantics"):
            text = options[declared]
            if not text or text[0] not in '{"':
                continue
            try:
                options[declared] = json.loads(text)
            except (RecursionError, ValueError) as error:  # nested too deeply, no JSON, or a number of too many digits
                raise UsageError(f"--{declared}: {line(error)}, legal a preset's name or a JSON object") from None
        result = check(load(where), where=where, **{k: v for k, v in options.items() if v is not None})
        print(block(result, colour=call("stdout_has_colour")))
        if verbose:
            print(f"\n{result.details()}")
        if junit:
            result.junit(junit)
        if path:
            result.json(path)
        return 0 if result.ok else 1 if result.findings or result.lost else 4
    except UsageError as error:
        _complain(error)
        return 2
    except (InfrastructureError, OSError) as error:
        _complain(error)
        return 3
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a defect of this program or of a framework, or an exit() of a signal's handler: 0 and 1 would be verdicts
        _complain(f"{type(error).__name__}: {line(error)}")
        return 3


def run() -> NoReturn:
    """main(), and the end of the process: what the user's module left to be done at exit cannot make another verdict of the code."""
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # a module may have closed or replaced it; a reader may be gone
            pass
    os._exit(code)


if __name__ == "__main__":
    run()
