from typing import Any, Callable, Dict, List, Optional, Tuple

class UsageError(ValueError): ...
class InfrastructureError(RuntimeError): ...

def laws() -> List[Tuple[str, str]]: ...
def families(problem: str, globs: List[str]) -> List[Tuple[str, str]]: ...
def arithmetics(problem: str) -> List[Tuple[str, str]]: ...
def features() -> List[str]: ...
def truth(problem: Dict[str, Any], narrow: bool) -> Dict[str, Any]: ...
def bound(problem: Dict[str, Any], arithmetic: str) -> Dict[str, Any]: ...
def make_case(line: str) -> Dict[str, Any]: ...
def read_witness(path: str) -> Dict[str, Any]: ...
def write_witness(path: str, problem: Dict[str, Any], case_line: str, notes: Dict[str, str]) -> None: ...
def seconds_per_call(call: Callable[[Dict[str, Any], bool], Tuple[Any, ...]], line: str, runs: int) -> float: ...
def check(
    *,
    id: str,
    problem: str,
    format: str,
    arithmetic: str,
    semantics: str,
    returns: str,
    deterministic: bool,
    batch_invariant: bool,
    isolates_hidden: bool,
    saturates: bool,
    takes: List[str],
    call: Callable[[Dict[str, Any], bool], Tuple[Any, ...]],
    refuses: Optional[Callable[[Dict[str, Any]], Optional[str]]],
    laws: List[str],
    families: List[str],
    seed: int,
    cases: int,
    measured: int,
    seconds: float,
    witnesses: str,
    replay: List[str],
    program: str,
    progress: Optional[Callable[[int, int, str], None]],
) -> str: ...
def suggest(
    *,
    id: str,
    problem: str,
    format: str,
    returns: str,
    isolates_hidden: bool,
    saturates: bool,
    takes: List[str],
    call: Callable[[Dict[str, Any], bool], Tuple[Any, ...]],
    refuses: Optional[Callable[[Dict[str, Any]], Optional[str]]],
    families: List[str],
    seed: int,
    cases: int,
    progress: Optional[Callable[[int, int, str], None]],
) -> str: ...
def semantics_words(semantics: str, problem: str) -> List[str]: ...
def semantics(problem: str) -> List[Tuple[str, str]]: ...
def block_text(
    *,
    outcome: str,
    sentence: str,
    tested: List[Tuple[str, str]],
    causes: List[List[str]],
    notes: List[Tuple[str, str]],
    rest: List[Tuple[str, str]],
    colour: bool,
) -> str: ...
def stdout_has_colour() -> bool: ...
def in_words(failure: str) -> str: ...
