"""A progress bar with the time that is left: on a terminal, where tqdm is installed; silent everywhere else."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any, Callable, Iterator, Optional


@contextlib.contextmanager
def progress_bar(name: str) -> Iterator[Optional[Callable[[int, int, str], None]]]:
    """What check() calls with (cases done, in all, input family); None: nothing is to be shown. The bar is gone afterwards."""
    tqdm = _tqdm()
    if tqdm is None:
        yield None
        return
    with tqdm(desc=name, unit="case", leave=False, file=sys.stderr, dynamic_ncols=True) as bar:

        def show(done: int, total: int, family: str) -> None:
            bar.total = total
            bar.set_postfix_str(family, refresh=False)
            bar.update(done - bar.n)

        yield show


def _tqdm() -> Any:
    try:
        return importlib.import_module("tqdm").tqdm if sys.stderr.isatty() else None
    except Exception:  # none is installed, or there is no stderr
        return None
