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
    """Write one test case a requirement."""
    root = ElementTree.Element(
        "testsuite",
        name=_clean(suite),
        tests=str(len(requirements)),
        failures=str(sum(each.failure is not None for each in requirements)),
        errors="0",
    )
    for each in requirements:
        case = ElementTree.SubElement(
            root, "testcase", classname=_clean(each.run), name=_clean(each.name)
        )
        if each.failure is not None:
            ElementTree.SubElement(case, "failure", message=_clean(each.failure))
        ElementTree.SubElement(case, "system-out").text = _clean(each.found)
    ElementTree.indent(root)
    with atomic_write(path) as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write(ElementTree.tostring(root, encoding="unicode") + "\n")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
