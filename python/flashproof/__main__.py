"""python3 -m flashproof FILE.py:FUNCTION or MODULE:FUNCTION: check() from a shell, and what the replay lines run."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import runpy
import sys
from typing import Any, Callable, List, Optional

from . import InfrastructureError, UsageError, check


def load(where: str) -> Callable[..., Any]:
    """The callable of FILE.py:NAME or MODULE:NAME, NAME with dots where it is an attribute's."""
    source, _, name = where.rpartition(":")
    if not source or not name:
        raise UsageError(f"{where[:80]!r}: must be FILE.py:FUNCTION or MODULE:FUNCTION")
    if source.endswith(".py") and not os.path.isfile(source):
        raise UsageError(f"{source[:80]!r}: no such file")
    try:
        if source.endswith(".py"):
            found: Any = argparse.Namespace(**runpy.run_path(source))
        else:
            sys.path.insert(0, os.getcwd())
            found = importlib.import_module(source)
    except (Exception, SystemExit) as error:  # the user's own file: 1 would say that the kernel has findings
        raise UsageError(f"{source[:80]!r}: not loaded, {type(error).__name__}: {' '.join(str(error).split())[:300]}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{source[:80]}: has no {name[:80]}")
        found = getattr(found, part)
    return found


def main(arguments: Optional[List[str]] = None) -> int:
    """0: no findings; 1: findings; 2: an argument is wrong; 3: the machine failed."""
    parser = argparse.ArgumentParser(prog="python3 -m flashproof", description=__doc__)
    parser.add_argument("function", metavar="FILE.py:FUNCTION")
    for option in ("problem", "dtype", "arithmetic", "arrays", "device", "returns", "witnesses", "name"):
        parser.add_argument(f"--{option}")
    for option in ("cases", "measured", "seed"):
        parser.add_argument(f"--{option}", type=int)
    parser.add_argument("--seconds", type=float)
    for option in ("without", "family", "law"):
        parser.add_argument(f"--{option}", action="append", default=[])
    for promise in ("batch-invariant", "isolates-hidden", "saturates", "not-deterministic"):
        parser.add_argument(f"--{promise}", action="store_true")
    parser.add_argument("--replay", metavar="CASE", help="one witness file or case line, and nothing else")
    parser.add_argument("--kernel", help=argparse.SUPPRESS)  # a replay line names the one kernel that there is
    parser.add_argument("--junit", metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    options = vars(parser.parse_args(arguments))
    where, junit, path = options.pop("function"), options.pop("junit"), options.pop("json")
    options.pop("kernel")
    options["families"], options["laws"] = options.pop("family"), options.pop("law")
    options["deterministic"] = not options.pop("not_deterministic")
    replayed = options.pop("replay")
    if replayed:
        options.update(case=replayed, measured=0, cases=1)
    arithmetic = options["arithmetic"]
    try:
        if arithmetic and arithmetic.startswith("{"):
            options["arithmetic"] = json.loads(arithmetic)
        result = check(load(where), **{k: v for k, v in options.items() if v is not None})
        print(result)
        if junit:
            result.junit(junit)
        if path:
            result.json(path)
        return 0 if result.ok else 1
    except (UsageError, json.JSONDecodeError) as error:
        print(f"flashproof: {error}", file=sys.stderr)
        return 2
    except (InfrastructureError, OSError) as error:
        print(f"flashproof: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
