"""Writes `cubeyard_engine.pyi`, the binding's types for Python, from its Rust sources; with
`--check`, fails if the committed file differs.

Names and their order come from the `#[pymodule]`, parameters from `#[pyo3(signature = ...)]`, types
from the Rust signatures, texts from the doc comments. Here stand only types that a Rust signature
does not have: those of callbacks and of the dictionary of cable columns.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRATE = ROOT / "emulator/crates/python"
STUB = CRATE / "cubeyard_engine.pyi"
WIDTH = 100

HEAD = '''"""Cubeyard's engine: topologies, layouts, wiring and bills of materials, computed.

Specs and price books go in as JSON text, documents come out as JSON text, cables as numpy columns.
Calls that compute release the GIL. The same spec and book always give the same plan.
"""

# Written by bin/binding-stub.py from the sources in src/.

from collections.abc import Callable
from typing import TypedDict, final

import numpy as np
from numpy.typing import NDArray

Progress = Callable[[int, int], object]
"""Called at least every 50 ms with units of work done and in all (0: not yet known); `False`
cancels."""
Document = Callable[[str], object]
"""Called with a JSON document."""

class CableColumns(TypedDict):
    """Equally long columns; row `i` is the cable of link `start + i`, or the leg of a breakout
    cable."""

    lead: NDArray[np.uint32]
    """The first link of its cable: its own number unless a breakout cable has several."""
    leg: NDArray[np.uint8]
    """The number of this leg in its breakout cable, from 1; 0 for a cable of one link."""
    trunk: NDArray[np.uint8]
    """End that is the trunk of its breakout cable: 1 for `a`, 2 for `b`, 0 for a cable of one
    link."""
    a_device: NDArray[np.uint32]
    a_port: NDArray[np.uint16]
    b_device: NDArray[np.uint32]
    b_port: NDArray[np.uint16]
    level: NDArray[np.uint8]
    route: NDArray[np.uint8]
    length_mm: NDArray[np.uint32]
    """Along the route, without slack."""
    stock_mm: NDArray[np.uint32]
    """The length to buy or cut."""
    part: NDArray[np.uint16]
    """Row of the scene's `parts`; 65535 when no part of the book fits."""
    colour: NDArray[np.uint8]
    bundle: NDArray[np.int32]
    """-1 for a cable within one rack."""
'''
CALLBACKS = {
    "on_progress": "Progress",
    "on_frame": "Document",
    "on_partial": "Document",
    "answer": "Callable[[bytes], bytes]",
}
"""By the name of the parameter."""
ATTRIBUTES = {
    "EngineError": (
        "findings_json: str",
        "JSON array of `{severity, code, where, message, hint, fix, value?, limit?}`.",
    )
}
"""What the binding sets on its exceptions."""
BASES = {"PyValueError": "ValueError", "PyException": "Exception"}
NAMES = {
    "&str": "str",
    "String": "str",
    "bool": "bool",
    "()": "None",
    "&[u8]": "bytes",
    "Vec<u8>": "bytes",
    "PyBytes": "bytes",
    "PyDict": "CableColumns",
    "f32": "float",
    "f64": "float",
}
DTYPES = {f"{kind[0]}{bits}": f"np.{kind}{bits}" for kind in ("uint", "int", "float") for bits in (8, 16, 32, 64)}

CALL = re.compile(
    r"(?P<top>(?:^[ ]*(?:///|#\[).*\n)*)^[ ]*(?:pub(?:\(crate\))? )?fn (?P<name>\w+)(?:<[^>]*>)?\((?P<takes>[^{]*?)\)(?: -> (?P<gives>[^{]+?))? \{",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Call:
    name: str
    doc: str
    attributes: str
    takes: list[tuple[str, str]]
    """Name and Rust type of each parameter, without the interpreter and `self`."""
    gives: str


def doc_of(lines: list[str]) -> str:
    return "\n".join(
        line.strip().removeprefix("///").removeprefix(" ") for line in lines if line.strip().startswith("///")
    )


def split_outside(text: str) -> list[str]:
    """The text at its commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def calls(text: str) -> list[Call]:
    result = []
    for match in CALL.finditer(text):
        lines = match["top"].splitlines()
        attributes = "\n".join(line for line in lines if line.strip().startswith("#["))
        pairs = [part.split(": ", 1) for part in split_outside(" ".join(match["takes"].split()))]
        takes = [(pair[0], pair[1]) for pair in pairs if len(pair) == 2 and pair[0] != "py"]
        result.append(Call(match["name"], doc_of(lines), attributes, takes, " ".join((match["gives"] or "()").split())))
    return result


class Types:
    """Python's names of Rust's types."""

    def __init__(self, sources: str, classes: set[str]) -> None:
        aliases = re.findall(r"^type (\w+)<'py> = ([^;]+);", sources, re.MULTILINE)
        self._aliases = {name: " ".join(kind.split()) for name, kind in aliases}
        self._classes = classes

    def python(self, rust: str) -> str:
        rust = re.sub(r"'\w+(?:, | )?", "", rust).replace("<>", "").strip()
        rust = re.sub(r"^(?:PyResult|Py|Bound)<(.*)>$", r"\1", rust)
        if rust != (inner := re.sub(r"^(?:PyResult|Py|Bound)<(.*)>$", r"\1", rust)):
            return self.python(inner)
        if rust in NAMES:
            return NAMES[rust]
        if re.fullmatch(r"[iu](?:8|16|32|64|size)", rust):
            return "int"
        if (name := rust.removeprefix("&")) in self._classes:
            return name
        if rust in self._aliases:
            return self.python(self._aliases[rust])
        if match := re.fullmatch(r"PyArray1<(\w+)>", rust):
            return f"NDArray[{DTYPES[match[1]]}]"
        if match := re.fullmatch(r"Option<(.*)>", rust):
            return f"{self.python(match[1])} | None"
        if match := re.fullmatch(r"Vec<(.*)>", rust):
            return f"list[{self.python(match[1])}]"
        if match := re.fullmatch(r"\((.*)\)", rust):
            return f"tuple[{', '.join(self.python(part) for part in split_outside(match[1]))}]"
        raise SystemExit(f"error: {rust} of a signature has no type in Python; add it to bin/binding-stub.py")

    def parameter(self, name: str, rust: str) -> str:
        if "PyAny" in rust:
            return f"{CALLBACKS[name]} | None" if rust.startswith("Option") else CALLBACKS[name]
        return self.python(rust)


def docstring(doc: str, indent: str) -> list[str]:
    """A doc comment as a docstring, its paragraphs filled; what stands in backticks stays on one
    line."""
    paragraphs = [[indent + '"""']]
    for number, paragraph in enumerate(parts := re.split(r"\n\s*\n", doc), start=1):
        lines = paragraphs[-1] if number == 1 else [indent]
        paragraphs[number - 1 :] = [lines]
        words = re.findall(r"(?:`[^`]*`|\S)+", paragraph)
        words[-1] += '"""' if number == len(parts) else ""
        for word in words:
            gap = "" if lines[-1].strip() in ("", '"""') else " "
            if gap and len(lines[-1]) + 1 + len(word) > WIDTH:
                lines.append(indent + word)
            else:
                lines[-1] += gap + word
    return [line for at, lines in enumerate(paragraphs) for line in ([""] if at else []) + lines]


def function(call: Call, types: Types, indent: str = "") -> list[str]:
    getter = "#[getter]" in call.attributes
    new = "#[new]" in call.attributes
    declared = re.search(r"signature = \((.*)\)\)\]", call.attributes)
    defaults = dict(part.split("=", 1) for part in split_outside(declared[1]) if "=" in part) if declared else {}
    spelled = {"true": "True", "false": "False"}
    takes = ["self"] if indent else []
    for name, rust in call.takes:
        default = defaults.get(name)
        takes.append(
            f"{name}: {types.parameter(name, rust)}" + (f" = {spelled.get(default, default)}" if default else "")
        )
    gives = "None" if new else types.python(call.gives)
    lines = [f"{indent}@property"] if getter else []
    head = f"{indent}def {'__init__' if new else call.name}({', '.join(takes)}) -> {gives}:"
    if len(head) > 120:
        lines += [
            f"{head[: head.index('(') + 1]}",
            *(f"{indent}    {part}," for part in takes),
            f"{indent}) -> {gives}:",
        ]
    else:
        lines.append(head)
    if call.doc:
        return [*lines, *docstring(call.doc, f"{indent}    "), ""]
    return [*lines[:-1], f"{lines[-1]} ..."]


def class_of(name: str, doc: str, methods: list[Call], types: Types) -> list[str]:
    lines = ["@final", f"class {name}:", *docstring(doc, "    "), ""]
    for method in methods:
        lines += function(method, types, "    ")
    return [*lines, ""]


def stub(sources: str) -> str:
    module = sources[sources.index("#[pymodule]") :]
    exported = re.findall(r"\b(\w+)(?=[,;}])", " ".join(re.findall(r"use super::([^;]+;)", module.replace("\n", " "))))
    errors = {
        name: (BASES[base], text)
        for name, base, text in re.findall(r"create_exception!\(\s*\w+,\s*(\w+),\s*(\w+),\s*\"([^\"]*)\"", sources)
    }
    classes = dict(re.findall(r"((?:^///.*\n)+)#\[pyclass.*\n(?:#\[.*\n)*pub struct (\w+)", sources, re.MULTILINE))
    classes = {name: doc_of(doc.splitlines()) for doc, name in classes.items()}
    types = Types(sources, set(classes))
    functions = {call.name: call for call in calls(sources) if "#[pyfunction]" in call.attributes}
    methods = {
        name: calls("\n".join(takewhile(lambda line: line != "}", sources.split(head, 1)[1].splitlines())) + "\n")
        for name in classes
        if (head := f"#[pymethods]\nimpl {name} {{\n") in sources
    }
    lines = HEAD.split("\n")
    for name in sorted(exported):
        if name in errors:
            base, text = errors[name]
            lines += [f"class {name}({base}):", *docstring(text, "    "), ""]
            if name in ATTRIBUTES:
                attribute, text = ATTRIBUTES[name]
                lines += [f"    {attribute}", *docstring(text, "    "), ""]
        elif name in classes:
            lines += class_of(name, classes[name], methods[name], types)
        else:
            lines += function(functions[name], types)
    listed = "".join(f'    "{name}",\n' for name in sorted(exported))
    text = "\n".join(lines).replace("NDArray\n\n", f"NDArray\n\n__all__ = [\n{listed}]\n\n", 1)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def main() -> int:
    sources = "\n".join(path.read_text() for path in sorted((CRATE / "src").glob("*.rs")))
    text = stub(sources)
    if "--check" not in sys.argv:
        STUB.write_text(text)
    elif STUB.read_text() != text:
        print(f"{STUB.relative_to(ROOT)} is not what its sources declare: run bin/binding-stub.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
