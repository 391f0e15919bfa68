"""A comparison as JUnit XML, which every CI service shows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from personalbench.storage import atomic_write

# XML 1.0 has no way to write these, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Requirement:
    """Something that was asked of a run.

    Attributes:
        run: Whose.
        name: What was asked.
        failure: Why it does not hold; None where it does.
        found: What was found, in a sentence.
    """

    run: str
    name: str
    failure: str | None
    found: str


def write_junit(path: Path, suite: str, requirements: Sequence[Requirement]) -> None:
    """Write one test case a requirement.

    Jenkins shows a failure's message, GitLab and the reporters of GitHub Actions its text;
    some of those read the times as numbers and have none of a missing one.
    """
    summary = {
        "name": _clean(suite),
        "tests": str(len(requirements)),
        "failures": str(sum(each.failure is not None for each in requirements)),
        "errors": "0",
        "skipped": "0",
        "time": "0",
    }
    root = ElementTree.Element("testsuites", summary)
    inner = ElementTree.SubElement(root, "testsuite", summary)
    for each in requirements:
        case = ElementTree.SubElement(
            inner, "testcase", classname=_clean(each.run), name=_clean(each.name), time="0"
        )
        if each.failure is not None:
            said = _clean(each.failure)
            failure = ElementTree.SubElement(case, "failure", message=said, type="requirement")
            failure.text = said
        ElementTree.SubElement(case, "system-out").text = _clean(each.found)
    ElementTree.indent(root)
    with atomic_write(path) as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write(ElementTree.tostring(root, encoding="unicode") + "\n")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
