"""What devices see of their neighbours: the output of `lldpctl -f json` or `-f json0`, of one
device or of several.

`lldpctl` does not say on which device it ran. So a document is one of these, or several of them one
after the other:

- the output of one device, whose name is given beside it;
- the same with a member `host`: `{"host": "h00", "lldp": {...}}`;
- an object with the name of each device and its output:
  `{"h00": {"lldp": {...}}, "s0-0": {"lldp": {...}}}`;
- a list of any of these.

The form `json` leaves out what `json0` always writes: a list of one is its only item, an object
with `value` alone is that value, and an object with a `name` becomes the value of a member that has
the name. An interface with several neighbours is there several times. A neighbour's port goes by
its id where that is a name, else by its description, as on Linux, where the id is a MAC address. An
address is no name: a neighbour that tells nothing else is unknown.

The outputs of other vendors and tools are read too (`vendors.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cubeyard.reading.cables import vendors
from cubeyard.reading.cables.listing import Listing, SeenCable, SeenEnd
from cubeyard.reading.names import is_address, is_nobody
from cubeyard.reading.problems import MAX_MISTAKES, BadFileError, Mistake, Skipped, refused
from cubeyard.reading.text import encoding_of

_NAMING = frozenset({"ifname", "ifalias", "local"})
"""Types of a port's id that are what people call the port. The others are addresses. [IEEE 802.1AB
§8.5.3]"""
_SAVE_WITH_NAME = 'Add a member "host" with the device\'s name, or give the name beside the file.'
_OUTPUTS = ("lldp", *vendors.OUTPUTS)
_EXPECTED = "This JSON is no output of lldpctl -f json, which has a member lldp, and no list of NetBox's cables."
_SEND = "Send what lldpctl -f json prints, or a table as CSV or XLSX."


def read(data: bytes, host: str | None = None) -> Listing:
    """Raises `BadFileError` for what is not JSON, by line and column, and for what is no output of
    lldpctl, by field."""
    reader = _Reader(host)
    for where, document in _documents(data):
        reader.document(where, document)
    if reader.mistakes:
        raise BadFileError(reader.mistakes)
    return Listing("lldp", reader.cables, frozenset(reader.reporters), reader.skipped, reader.loose)


def _documents(data: bytes) -> Iterator[tuple[str, Any]]:
    # Bytes of a description that are no text are replaced, and a name with such a byte does not
    # count.
    text = data.decode(encoding_of(data), "replace").removeprefix("\ufeff")
    decoder = json.JSONDecoder(object_pairs_hook=_object)
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
            raise refused(where, f"The file is not JSON: {error.msg}.", line=error.lineno) from None
        except RecursionError:
            raise refused("document", "The JSON is nested too deeply.") from None
        yield ("" if number == 1 else f"document {number}", document)


class _Reader:
    def __init__(self, host: str | None) -> None:
        self._host = host
        self.cables: list[SeenCable] = []
        self.loose: list[SeenCable] = []
        self.skipped: list[Skipped] = []
        self.reporters: set[str] = set()
        self.mistakes: list[Mistake] = []

    def _wrong(self, where: str, message: str, hint: str = "") -> None:
        if len(self.mistakes) < MAX_MISTAKES:
            self.mistakes.append(Mistake(where or "document", message, hint))

    def document(self, where: str, value: Any) -> None:
        value = vendors.unwrapped(value)
        if isinstance(value, list):
            for index, item in enumerate(value):
                self.document(f"{where}[{index}]", item)
        elif not isinstance(value, dict):
            self._wrong(where, _EXPECTED, _SEND)
        elif own := vendors.own_device(value, self._host):
            self._row(own, where, value)
        elif any(name in value for name in _OUTPUTS) or vendors.is_by_port(value):
            name = value.get("host", self._host)
            if isinstance(name, str) and name.strip():
                self._output(name.strip(), where, value)
            elif "host" in value:
                self._wrong(_join(where, "host"), "The device's name must be text that is not empty.")
            else:
                self._wrong(where, "The file does not say which device this output is from.", _SAVE_WITH_NAME)
        elif outputs := _by_device(value):
            for name, output in outputs:
                self._output(name.strip(), _join(where, name), output)
        else:
            self._wrong(where, _EXPECTED, _SEND)

    def _output(self, name: str, where: str, output: dict[str, Any]) -> None:
        self.reporters.add(name)
        if "lldp" in output:
            for at, port, neighbour in self._interfaces(_join(where, "lldp"), output["lldp"]):
                device = self._chassis(_join(at, "chassis"), neighbour.get("chassis"))
                ports = self._port(_join(at, "port"), neighbour.get("port"))
                if device is not None and ports is not None:
                    self._cable(name, port, SeenEnd(device.device, ports, device.address))
            return
        member = next((each for each in vendors.OUTPUTS if each in output), "")
        for index, row in enumerate(vendors.rows(output[member] if member else output)):
            self._row(name, f"{_join(where, member)}[{index}]", row)

    def _row(self, name: str, where: str, row: Any) -> None:
        self.reporters.add(name)
        if not isinstance(row, dict):
            self.skipped.append(Skipped(where, "A neighbour must be an object."))
            return
        port, device, far = vendors.ends(row)
        if port and device:
            address = device if is_address(device) else ""
            ports = () if is_address(far) or not far else (far,)
            self._cable(name, port, SeenEnd("" if address else device, ports, address))
        else:
            self.skipped.append(Skipped(where, "The neighbour has neither a name nor an id."))

    def _cable(self, name: str, port: str, far: SeenEnd) -> None:
        cable = SeenCable(SeenEnd(name, (port,)), far, None, f"LLDP of {name}, {port}")
        (self.cables if far.device or far.address else self.loose).append(cable)

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
                    self.skipped.append(Skipped(at, "An interface must be an object."))
                elif isinstance(entry.get("name"), str):
                    yield at, entry["name"], entry
                else:
                    for name, neighbours in entry.items():
                        for neighbour in _many(neighbours):
                            if isinstance(neighbour, dict):
                                yield _join(at, name), name, neighbour
                            else:
                                reason = "A neighbour must be an object with chassis and port."
                                self.skipped.append(Skipped(_join(at, name), reason))

    def _chassis(self, where: str, value: Any) -> SeenEnd | None:
        """The neighbour's name, or its address where it does not tell one."""
        chassis = _one(value)
        if isinstance(chassis, dict):
            reported = vendors.text(_member(chassis.get("id"), "value"))
            names = [name for name, inner in chassis.items() if name != "id" and isinstance(_one(inner), dict)]
            name = vendors.text(chassis.get("name")) or (names[0] if len(names) == 1 and not reported else "")
            if name and is_nobody(name):
                inner = _one(chassis[name]) if name in chassis else None
                reported = reported or vendors.text(_member(_member(inner, "id"), "value"))
                name = ""
            if not name and reported and vendors.text(_member(chassis.get("id"), "type")) in _NAMING:
                name = reported
            if name and not is_address(name):
                return SeenEnd(name, ())
            if name or reported:
                return SeenEnd("", (), name or reported)
        self.skipped.append(Skipped(where, "The neighbour has neither a name nor an id."))
        return None

    def _port(self, where: str, value: Any) -> tuple[str, ...] | None:
        """What the neighbour's port may be called; nothing where it tells an address alone."""
        port = _one(value)
        if isinstance(port, dict):
            reported = vendors.text(_member(port.get("id"), "value"))
            kind, description = vendors.text(_member(port.get("id"), "type")), vendors.text(port.get("descr"))
            names = (reported, description) if kind in _NAMING else (description, reported)
            if any(names):
                whole = [name for name in names if name and "\ufffd" not in name]
                return tuple(dict.fromkeys(name for name in whole if not is_address(name)))
        self.skipped.append(Skipped(where, "The neighbour's port has neither an id nor a description."))
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An interface with several neighbours may be there several times: they are a list."""
    made = dict(pairs)
    if len(made) < len(pairs):
        for name in made:
            values = [value for key, value in pairs if key == name]
            made[name] = values if len(values) > 1 else values[0]
    return made


def _is_output(value: Any) -> bool:
    return isinstance(value, dict) and (any(name in value for name in _OUTPUTS) or vendors.is_by_port(value))


def _by_device(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Outputs with their devices, of which one may occur twice; none for other objects."""
    each = [(str(name), output) for name, outputs in value.items() for output in _many(outputs)]
    return each if all(_is_output(output) for _, output in each) else []


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _one(value: Any) -> Any:
    """A list's only item, as `json` writes it."""
    return value[0] if isinstance(value, list) and value else value


def _member(value: Any, name: str) -> Any:
    inner = _one(value)
    return inner.get(name) if isinstance(inner, dict) else None


def _join(where: str, field: str) -> str:
    return f"{where}.{field}" if where else field
