"""Verdicts as JUnit XML for CI systems: one test case per hypothesis. Inconclusive and
untested hypotheses are skipped with their reason."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from cubeyard.experiments.scenario.verdict import RunVerdict

MEDIA_TYPE = "application/xml"
SKIPPED = ("inconclusive", "not-tested")
_UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(name: str, verdict: RunVerdict, secs: float | None = None, properties: dict[str, str] | None = None) -> bytes:
    """The XML of one suite. Without hypotheses it has one case, which is skipped."""
    cases = verdict.hypotheses
    counts = {
        "tests": max(1, len(cases)),
        "failures": sum(item.outcome == "broken" for item in cases),
        "skipped": sum(item.outcome in SKIPPED for item in cases) if cases else 1,
        "errors": 0,
    }
    reported = {"name": _plain(name), **{key: str(value) for key, value in counts.items()}}
    if secs is not None:
        reported["time"] = f"{secs:.3f}"
    root = ElementTree.Element("testsuites", reported)
    suite = ElementTree.SubElement(root, "testsuite", reported)
    if properties:
        group = ElementTree.SubElement(suite, "properties")
        for key, value in properties.items():
            ElementTree.SubElement(group, "property", {"name": key, "value": _plain(value)})
    for number, item in enumerate(cases, start=1):
        case = _case(suite, name, f"{number}. {item.title}")
        sentence = _plain(item.sentence)
        if item.outcome == "broken":
            ElementTree.SubElement(case, "failure", {"message": sentence, "type": item.metric}).text = sentence
        elif item.outcome in SKIPPED:
            ElementTree.SubElement(case, "skipped", {"message": sentence})
        else:
            ElementTree.SubElement(case, "system-out").text = sentence
    if not cases:
        message = _plain(" ".join(["It has no hypotheses.", *verdict.not_injected, *verdict.off_schedule]))
        ElementTree.SubElement(_case(suite, name, "It ran"), "skipped", {"message": message})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _case(suite: ElementTree.Element, name: str, title: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", {"classname": _plain(name), "name": _plain(title)})


def _plain(text: str) -> str:
    """Without characters that XML cannot hold."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
