"""flashproof.suggest()."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, List, Optional, Union

from . import _flashproof
from ._check import _id, _kernel, _must_be_kernel, _predicate, names_of
from ._options import number
from ._problem import View
from ._progress import progress_bar
from ._text import line, said, shown


@dataclasses.dataclass(frozen=True)
class Suggestion:
    """The declaration that explains a callable, as keywords of check(): check(f, **suggestion.keywords)."""

    found: bool
    semantics: Union[str, Dict[str, str]]  #: of the nearest declaration where none was found
    arithmetic: Union[str, Dict[str, Any]]
    alternative: str  #: of an open arithmetic: what of it explains the cases, as members of one
    cases: int  #: that the callable took
    unexplained: List[Dict[str, str]]  #: case, failure and message, the smallest case first
    notes: List[str]  #: what no case shows, and what no value explains
    undecided: str  #: why nothing is suggested although every case is explained
    text: str

    @property
    def keywords(self) -> Dict[str, Any]:
        return {"semantics": self.semantics, "arithmetic": self.arithmetic}

    def __str__(self) -> str:
        return shown(self.text.rstrip("\n"))


def suggest(
    function: Callable[..., Any],
    *,
    problem: str = "attention",
    dtype: Any = "float32",
    arrays: Optional[str] = None,
    device: str = "",
    returns: Optional[str] = None,
    isolates_hidden: bool = False,
    saturates: bool = False,
    without: Union[str, List[str]] = (),  # type: ignore[assignment]
    refuses: Optional[Callable[[View], Optional[str]]] = None,
    families: Union[str, List[str]] = (),  # type: ignore[assignment]
    cases: int = 2,
    seed: int = 1,
    name: str = "",
) -> Suggestion:
    """Runs a callable on a few cases of every family and proposes semantics and arithmetic that explain all of them.

    cases: per family; seed: of the first one. The other arguments are those of check(). Nothing is suggested that a run of these
    cases would not pass by, but for what fails whatever is declared: a note says so. Throws UsageError for an argument that is wrong, and for gradients, which have no semantics.
    """
    _must_be_kernel(function, problem)
    for what, value in (("--cases", cases), ("--seed", seed)):
        number("python-suggest", what, value)
    if problem == "attention_backward":
        raise _flashproof.UsageError("suggest: gradients declare no semantics, legal forward problems")
    if refuses is not None and not callable(refuses):
        raise _flashproof.UsageError(f"refuses: must be callable, not a {type(refuses).__name__}")
    kernel, format, _, features = _kernel(function, problem, dtype, arrays, device, returns, names_of("without", without))
    with progress_bar(line(_id(function, problem, name), 60)) as progress:
        found = _flashproof.call(
            "suggest", id=_id(function, problem, name), problem=problem, format=format, returns=kernel.returns, isolates_hidden=isolates_hidden,
            saturates=saturates, takes=features, kernel=kernel, refuses=None if refuses is None else _predicate(refuses),
            families=names_of("families", families), seed=seed, cases=cases, progress=progress)
    return Suggestion(**found)
