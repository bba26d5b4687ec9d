"""pytest: the fixtures `flashproof_check` and `flashproof_family`, and the marker `flashproof` with their options.

    @pytest.mark.flashproof(problem="attention", dtype="bfloat16", arrays="torch", arithmetic="fa2_sm80")
    def test_my_attention(flashproof_check):
        flashproof_check(my_attention)

    @pytest.mark.flashproof(dtype="float16")
    def test_each_family(flashproof_family):          # a test per input family, its name in the test's
        flashproof_family(my_attention)

Fails with str(result), at most 60 lines; Ctrl-C ends pytest with what there is. A family that the kernel takes no case of, or of which too
little can be decided, is a skip with the reason. Tests share nothing, and their order is that of flashproof.families(): xdist may
spread them. --flashproof-seconds is of each check. Witnesses and the JUnit XML of the laws go to a folder of --flashproof-out, else to the test's own
tmp_path; the numbers go to pytest's own --junitxml as properties of the test.
"""

from __future__ import annotations

import os
import re
import zlib
from typing import Any, Callable, Dict, Iterator

import pytest

from . import Result, UsageError, _flashproof, _triton, check
from ._check import names_of
from ._options import help_of, number
from ._text import said, shown


#: Of flashproof_family to flashproof_check: no option of check().
_OF_ONE_FAMILY = "of one family"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("flashproof")
    group.addoption("--flashproof-out", metavar="DIR", default="", help="witnesses and JUnit XML, a folder per test")
    group.addoption("--flashproof-seconds", default=None, help=f"of each check: {help_of('python', '--seconds')}")
    group.addoption("--flashproof-cases", default=None, help=help_of("python", "--cases"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "flashproof(**options): options of flashproof.check() for flashproof_check and flashproof_family")


def _options(node: Any) -> Dict[str, Any]:
    """Of all markers of a test, the nearest one's last."""
    given: Dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("flashproof"))):
        if marker.args:
            raise UsageError(f"marker flashproof: takes options by name alone, not {said(marker.args)}")
        given.update(marker.kwargs)
    return given


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test per input family of the marker's problem and `families`."""
    if "flashproof_family" not in metafunc.fixturenames:
        return
    try:
        given = _options(metafunc.definition)
        problem = given.get("problem", "attention")
        if not isinstance(problem, str):
            raise UsageError(f"problem {said(problem)}: legal a text")
        families = [name for name, _ in _flashproof.call("families", problem=problem, globs=names_of("families", given.get("families", ())))]
    except UsageError as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("flashproof_family", families, indirect=True)


def _folder_name(node: str) -> str:
    """A parametrised test's name may be longer than a folder's, and differ from another's in what no folder's name should hold."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", node)
    plain = re.sub(r"(::|/|\[|\])+", "_", node)  # what every name of a test has
    return name if name == plain and len(name) <= 150 else f"{name[:150]}.{zlib.crc32(node.encode('utf-8', 'backslashreplace')):08x}"


@pytest.fixture
def flashproof_check(request: pytest.FixtureRequest, tmp_path: Any) -> Callable[..., Result]:
    """flashproof.check() with the marker's options as defaults; fails the test for a finding."""

    def run(function: Callable[..., Any], **options: Any) -> Result:
        given = {**_options(request.node), **options}
        for name in ("seconds", "cases"):
            value = request.config.getoption(f"--flashproof-{name}")
            if value is not None:
                given[name] = number("python", f"--{name}", value, shown=f"--flashproof-{name}")
        out = request.config.getoption("--flashproof-out")
        folder = os.path.join(out, _folder_name(request.node.nodeid)) if out else str(tmp_path)
        given.setdefault("witnesses", folder)
        result = check(function, **{name: value for name, value in given.items() if name != _OF_ONE_FAMILY})
        os.makedirs(folder, exist_ok=True)
        result.junit(os.path.join(folder, f"{result.kernel}.xml"))
        properties = request.node.user_properties  # record_property warns where the JUnit family is xunit2
        properties.append(("flashproof.max_ratio", result.max_ratio))
        properties.append(("flashproof.findings", len(result.findings)))
        for finding in result.findings:
            properties.append(("flashproof.finding", shown(f"{finding.law}: {finding.kind}: {finding.case} {finding.witness}")))
        if result.interrupted:
            pytest.exit(str(result))
        if not result.ok and not _says_nothing(result, given):
            pytest.fail(str(result), pytrace=False)
        return result

    return run


def _says_nothing(result: Result, given: Dict[str, Any]) -> bool:
    """Of one family: the kernel takes no case of it, or every law was asked of all of its cases and too little could be decided."""
    nothing = {finding.kind for finding in result.findings} == {"nothing_tested"}
    return given.get(_OF_ONE_FAMILY, False) and not result.partial and (nothing or (result.outcome == "undecided" and not given.get("laws")))


@pytest.fixture
def flashproof_family(request: pytest.FixtureRequest, flashproof_check: Callable[..., Result]) -> Callable[..., Result]:
    """flashproof_check() of one input family: the test is one of as many as there are families."""

    def run(function: Callable[..., Any], **options: Any) -> Result:
        result = flashproof_check(function, **{**options, "families": [request.param], _OF_ONE_FAMILY: True})
        if not result.ok:
            pytest.skip(result.findings[0].message if result.findings else result.undecided[0])
        return result

    return run


@pytest.fixture
def triton_on_cpu(request: pytest.FixtureRequest) -> Iterator[None]:
    """Triton's launches in this test run on the CPU: flashproof.triton_on_cpu(). @pytest.mark.parametrize("triton_on_cpu", [80, 90], indirect=True) says as which GPU."""
    with _triton.triton_on_cpu(getattr(request, "param", 80)):
        yield
