"""pytest: the fixture `flashproof_check`, and the marker `flashproof` with its options.

    @pytest.mark.flashproof(problem="attention", dtype="bfloat16", arrays="torch", arithmetic="fa2_sm80")
    def test_my_attention(flashproof_check):
        flashproof_check(my_attention)

Fails with the findings' text. Witnesses and the JUnit XML of the laws go to a folder of --flashproof-out, else to the test's own
tmp_path; the numbers go to pytest's own --junitxml as properties of the test.
"""

from __future__ import annotations

import os
import re
import zlib
from typing import Any, Callable

import pytest

from . import Result, UsageError, check
from ._text import said, shown


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("flashproof")
    group.addoption("--flashproof-out", metavar="DIR", default="", help="witnesses and JUnit XML, a folder per test")
    group.addoption("--flashproof-seconds", type=float, default=None, help="ends every check after so long with what there is")
    group.addoption("--flashproof-cases", type=int, default=None, help="cases drawn per family and law")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "flashproof(**options): options of flashproof.check() for the fixture flashproof_check")


def _folder_name(node: str) -> str:
    """A parametrised test's name may be longer than a folder's, and differ from another's in what no folder's name should hold."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", node)
    plain = re.sub(r"(::|/|\[|\])+", "_", node)  # what every name of a test has
    return name if name == plain and len(name) <= 150 else f"{name[:150]}.{zlib.crc32(node.encode('utf-8', 'backslashreplace')):08x}"


@pytest.fixture
def flashproof_check(request: pytest.FixtureRequest, tmp_path: Any) -> Callable[..., Result]:
    """flashproof.check() with the marker's options as defaults; fails the test for a finding."""

    def run(function: Callable[..., Any], **options: Any) -> Result:
        given: dict = {}
        for marker in reversed(list(request.node.iter_markers("flashproof"))):
            if marker.args:
                raise UsageError(f"marker flashproof: takes options by name alone, not {said(marker.args)}")
            given.update(marker.kwargs)
        given.update(options)
        for name in ("seconds", "cases"):
            value = request.config.getoption(f"--flashproof-{name}")
            if value is not None:
                given[name] = value
        out = request.config.getoption("--flashproof-out")
        folder = os.path.join(out, _folder_name(request.node.nodeid)) if out else str(tmp_path)
        given.setdefault("witnesses", folder)
        result = check(function, **given)
        os.makedirs(folder, exist_ok=True)
        result.junit(os.path.join(folder, f"{result.kernel}.xml"))
        properties = request.node.user_properties  # record_property warns where the JUnit family is xunit2
        properties.append(("flashproof.max_ratio", result.max_ratio))
        properties.append(("flashproof.findings", len(result.findings)))
        for finding in result.findings:
            properties.append(("flashproof.finding", shown(f"{finding.law}: {finding.kind}: {finding.case} {finding.witness}")))
        if not result.ok:
            pytest.fail(str(result), pytrace=False)
        return result

    return run
