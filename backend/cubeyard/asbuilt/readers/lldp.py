"""What devices see of their neighbours: the output of `lldpctl -f json` or `-f json0`, of one device or of several.

`lldpctl` does not say on which device it ran. So a document is one of these, or several of them one after the other:

- the output of one device, whose name is given beside it;
- the same with a member `host`: `{"host": "h00", "lldp": {...}}`;
- an object with the name of each device and its output: `{"h00": {"lldp": {...}}, "s0-0": {"lldp": {...}}}`;
- a list of any of these.

The form `json` leaves out what `json0` always writes: a list of one is its only item, an object with `value` alone is that value, and
an object with a `name` becomes the value of a member that has the name. An interface with several neighbours is there several times.
A neighbour's port goes by its id where that is a name, else by its description first, as on Linux, where the id is a MAC address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cubeyard.asbuilt.readers.listing import MAX_MISTAKES, BadListError, Listing, Mistake, SeenCable, SeenEnd

_NAMING = frozenset({"ifname", "ifalias", "local"})
"""Types of a port's id that are what people call the port. The others are addresses. [IEEE 802.1AB §8.5.3]"""
_SAVE_WITH_NAME = 'Add a member "host" with the device\'s name, or give the name beside the file.'
_EXPECTED = "This is no output of lldpctl -f json: it has no member lldp."


def read(data: bytes, host: str | None = None) -> Listing:
    """Raises `BadListError` for what is not JSON, by line and column, and for what is no output of lldpctl, by field."""
    reader = _Reader(host)
    for where, document in _documents(data):
        reader.document(where, document)
    if reader.mistakes:
        raise BadListError(reader.mistakes)
    return Listing("lldp", reader.cables, frozenset(reader.reporters))


def _documents(data: bytes) -> Iterator[tuple[str, Any]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadListError([Mistake(f"byte {error.start + 1}", "The file is not UTF-8 text.")]) from None
    decoder = json.JSONDecoder()
    at, number = 0, 0
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at == len(text):
            return
        number += 1
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise BadListError([Mistake(where, f"The file is not JSON: {error.msg}.", line=error.lineno)]) from None
        except RecursionError:
            raise BadListError([Mistake("document", "The JSON is nested too deeply.")]) from None
        yield ("" if number == 1 else f"document {number}", document)


class _Reader:
    def __init__(self, host: str | None) -> None:
        self._host = host
        self.cables: list[SeenCable] = []
        self.reporters: set[str] = set()
        self.mistakes: list[Mistake] = []

    def _wrong(self, where: str, message: str, hint: str = "") -> None:
        if len(self.mistakes) < MAX_MISTAKES:
            self.mistakes.append(Mistake(where or "document", message, hint))

    def document(self, where: str, value: Any) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                self.document(f"{where}[{index}]", item)
        elif not isinstance(value, dict):
            self._wrong(where, _EXPECTED, "Send what lldpctl -f json prints.")
        elif "lldp" in value:
            name = value.get("host", self._host)
            if isinstance(name, str) and name.strip():
                self._device(name.strip(), _join(where, "lldp"), value["lldp"])
            elif "host" in value:
                self._wrong(_join(where, "host"), "The device's name must be text that is not empty.")
            else:
                self._wrong(where, "The file does not say which device this output is from.", _SAVE_WITH_NAME)
        elif value and all(isinstance(one, dict) and "lldp" in one for one in value.values()):
            for name, output in value.items():
                self._device(str(name).strip(), _join(_join(where, str(name)), "lldp"), output["lldp"])
        else:
            self._wrong(where, _EXPECTED, "Send what lldpctl -f json prints.")

    def _device(self, name: str, where: str, lldp: Any) -> None:
        self.reporters.add(name)
        for at, port, neighbour in self._interfaces(where, lldp):
            device = self._chassis(_join(at, "chassis"), neighbour.get("chassis"))
            ports = self._port(_join(at, "port"), neighbour.get("port"))
            if device and ports:
                self.cables.append(
                    SeenCable(SeenEnd(name, (port,)), SeenEnd(device, ports), None, f"LLDP of {name}, {port}")
                )

    def _interfaces(self, where: str, lldp: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Place, name and neighbour of each interface, in either form."""
        for part in _many(lldp):
            if not isinstance(part, dict):
                self._wrong(where, "The member lldp must be an object, or a list of objects.")
                continue
            entries = _many(part.get("interface", []))
            for index, entry in enumerate(entries):
                at = _join(where, "interface") + (f"[{index}]" if len(entries) > 1 else "")
                if not isinstance(entry, dict):
                    self._wrong(at, "An interface must be an object.")
                elif isinstance(entry.get("name"), str):
                    yield at, entry["name"], entry
                else:
                    for name, neighbour in entry.items():
                        if isinstance(neighbour, dict):
                            yield _join(at, name), name, neighbour
                        else:
                            self._wrong(_join(at, name), "A neighbour must be an object with chassis and port.")

    def _chassis(self, where: str, value: Any) -> str:
        """The neighbour's name; its address where it does not tell one."""
        chassis = _one(value)
        if isinstance(chassis, dict):
            if name := _text(chassis.get("name")) or _text(_member(chassis.get("id"), "value")):
                return name
            names = [name for name, inner in chassis.items() if isinstance(_one(inner), dict)]
            if len(names) == 1:
                return names[0]
        self._wrong(where, "The neighbour has neither a name nor an id.")
        return ""

    def _port(self, where: str, value: Any) -> tuple[str, ...]:
        port = _one(value)
        if isinstance(port, dict):
            told = _text(_member(port.get("id"), "value"))
            kind, description = _text(_member(port.get("id"), "type")), _text(port.get("descr"))
            names = (told, description) if kind in _NAMING else (description, told)
            if known := tuple(dict.fromkeys(name for name in names if name)):
                return known
        self._wrong(where, "The neighbour's port has neither an id nor a description.")
        return ()


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _one(value: Any) -> Any:
    """A list's only item, as `json` writes it."""
    return value[0] if isinstance(value, list) and value else value


def _member(value: Any, name: str) -> Any:
    inner = _one(value)
    return inner.get(name) if isinstance(inner, dict) else None


def _text(value: Any) -> str:
    """A text, whether it stands for itself or is the `value` of an object."""
    inner = _one(value)
    if isinstance(inner, dict):
        inner = inner.get("value")
    return inner.strip() if isinstance(inner, str) else ""


def _join(where: str, field: str) -> str:
    return f"{where}.{field}" if where else field
