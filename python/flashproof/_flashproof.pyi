from typing import Any, Callable, Dict, List, Optional, Tuple

class UsageError(ValueError): ...
class InfrastructureError(RuntimeError): ...

def laws() -> List[Tuple[str, str]]: ...
def families(problem: str) -> List[Tuple[str, str]]: ...
def arithmetics(problem: str) -> List[Tuple[str, str]]: ...
def features() -> List[str]: ...
def truth(problem: Dict[str, Any], narrow: bool) -> Dict[str, Any]: ...
def bound(problem: Dict[str, Any], arithmetic: str) -> Dict[str, Any]: ...
def make_case(line: str) -> Dict[str, Any]: ...
def read_witness(path: str) -> Dict[str, Any]: ...
def write_witness(path: str, problem: Dict[str, Any], case_line: str, notes: Dict[str, str]) -> None: ...
def gradients(problem: Dict[str, Any]) -> Dict[str, Any]: ...
def gradient_bound(problem: Dict[str, Any], arithmetic: str) -> Dict[str, Any]: ...
def gradient_arithmetics() -> List[Tuple[str, str]]: ...
def check_gradients(
    *,
    id: str,
    format: str,
    arithmetic: str,
    deterministic: bool,
    saturates: bool,
    takes: List[str],
    call: Callable[[Dict[str, Any], bool], Tuple[Any, ...]],
    refuses: Optional[Callable[[Dict[str, Any]], Optional[str]]],
    laws: List[str],
    families: List[str],
    seed: int,
    cases: int,
    seconds: float,
    witnesses: str,
    replay: str,
    program: str,
) -> str: ...
def seconds_per_call(call: Callable[[Dict[str, Any], bool], Tuple[Any, ...]], line: str, runs: int) -> float: ...
def check(
    *,
    id: str,
    problem: str,
    format: str,
    arithmetic: str,
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
) -> str: ...
