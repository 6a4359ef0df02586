"""A table reads the same however it is written: separator, encoding, quoting, words of the header,
order of rows and columns."""

from __future__ import annotations

import csv
import datetime
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.reading import foreign
from cubeyard.reading.cables import Listing, read
from cubeyard.reading.problems import BadFileError, problem
from tests.reading.books import csv_of, rewritten, workbook

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
HEADERS = (
    ("a_host_name", "a_port", "b_host_name", "b_port", "length_metres"),
    ("Source", "Source Port", "Destination", "Destination Port", "Length"),
    ("From Device", "From Port", "To Device", "To Port", "Cable length (m)"),
    ("Device A", "Port A", "Device B", "Port B", "LENGTH"),
    ("Local Host", "Local Interface", "Remote Host", "Remote Interface", "Length [m]"),
    ("A_Node", "A_Int", "Z_Node", "Z_Int", "length_m"),
    ("side_a_device", "side_a_name", "side_b_device", "side_b_name", "length"),
    ("Device A", "Termination A", "Device B", "Termination B", "Length"),
    ("host1", "port1", "host2", "port2", "len"),
    ("Server", "Server Port", "Switch", "Switch Port", "Length"),
    ("Gerät A", "Port A", "Gerät B", "Port B", "Länge"),
    ("Quelle", "Quellport", "Ziel", "Zielport", "Kabellänge (m)"),
    ("Von Gerät", "Von Port", "Nach Gerät", "Nach Port", "Laenge"),
    ("Startgerät", "Startport", "Zielgerät", "Zielport", "Länge [m]"),
    ("Équipement A", "Interface A", "Équipement B", "Interface B", "Longueur"),
    ("Appareil source", "Port source", "Appareil cible", "Port cible", "Longueur (m)"),
    ("Origen", "Puerto origen", "Destino", "Puerto destino", "Longitud"),
    ("Device A", "Device A Port", "Device B", "Device B Port", "Length"),
    ("Hostname", "Interface", "Neighbor", "Neighbor Port", "Length"),
    ("Device", "Local Interface", "Connected Device", "Connected Interface", "Length"),
    ("Endpoint A", "NIC A", "Endpoint B", "NIC B", "Length"),
    ("Apparaat A", "Poort A", "Apparaat B", "Poort B", "Lengte"),
    ("Origem", "Porta origem", "Destino", "Porta destino", "Comprimento (m)"),
    (
        "\u6e90\u8bbe\u5907",
        "\u6e90\u7aef\u53e3",
        "\u76ee\u7684\u8bbe\u5907",
        "\u76ee\u7684\u7aef\u53e3",
        "\u957f\u5ea6",
    ),
)
IN_ORDER = (
    ("Device", "Port", "Device", "Port", "Length in m"), ("Host", "Port", "Switch", "Switchport", "Length"), ("Server", "NIC", "Switch", "Port", "Length"),
    ("Von", "Port", "Nach", "Port", "Länge"), ("Server", "Schnittstelle", "Switch", "Anschluss", "Länge"), ("Start", "Port", "End", "Port", "Length"),
    ("Device ID", "Local Intrfce", "Neighbor", "Port ID", "Length"),
)  # fmt: skip
HEADERS = (
    *HEADERS, *IN_ORDER,
)  # fmt: skip
NAME = st.sampled_from(["h0-0", "h0-1", "s0-0", "Rack 3, U 7", 'a "quoted" name', "größe", "東京-1", "x;y"])
ROWS = st.lists(st.tuples(NAME, st.sampled_from(["eth0", "P0", "1/1"]), NAME, st.sampled_from(["eth1", "P1"]), st.sampled_from(["3", "1.5"])), min_size=1, max_size=5)  # fmt: skip


def cables(listing: Listing) -> list[tuple[object, ...]]:
    return [
        (entry.a.device, entry.a.ports[0], entry.b.device, entry.b.ports[0], entry.length_mm)
        for entry in listing.cables
    ]


def expected_of(rows: list[tuple[str, ...]]) -> list[tuple[object, ...]]:
    return [(*row[:4], 3000 if row[4] == "3" else 1500) for row in rows]


def aligned(table: list[list[str]], right: bool) -> bytes:
    """As commands print a table: columns two spaces apart, numbers at the right or the left."""
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    pad = [str.rjust if right and at == len(widths) - 1 else str.ljust for at in range(len(widths))]
    rows = [[fit(cell, width) for fit, cell, width in zip(pad, row, widths, strict=True)] for row in table]
    return "\n".join(
        "  ".join(row).rstrip() for row in (rows[0], ["-" * width for width in widths], *rows[1:])
    ).encode()


@settings(deadline=None)
@given(rows=ROWS, data=st.data())
def test_a_table_reads_the_same_however_it_is_written(rows: list[tuple[str, ...]], data: st.DataObject) -> None:
    header = data.draw(st.sampled_from(HEADERS))
    extra = data.draw(st.integers(0, 2))
    order = data.draw(st.permutations(range(5))) if header not in IN_ORDER else list(range(5))
    table = [[row[at] for at in order] + ["x"] * extra for row in ([*header], *rows)]
    table[0] = [header[at] for at in order] + [f"remark {i}" for i in range(extra)]
    titles = data.draw(st.sampled_from([[], [["List of hall 2, as of today, by M. Example"], []], [["a;b;c\td"]]]))
    blank = data.draw(st.booleans())
    body = [row for entry in table[1:] for row in ([entry, [""] * 5] if blank else [entry])]
    separator = data.draw(st.sampled_from(",;\t|"))
    text = csv_of([*titles, table[0], *body], separator, data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])))
    text = text.replace("\r\n", data.draw(st.sampled_from(["\r\n", "\n", "\r"])))
    if data.draw(st.booleans()):
        text = f"sep={separator}\r\n{text}"
    if separator == "\t" and not extra:
        assert cables(read(aligned([table[0], *body], data.draw(st.booleans())))) == expected_of(rows)
    written = text.encode(data.draw(st.sampled_from(ENCODINGS)))
    expected = expected_of(rows)
    assert cables(read(written)) == expected
    assert cables(read(workbook([*titles, table[0], *body]))) == expected


def test_windows_text_is_read_and_case_of_letters_in_a_header_does_not_matter() -> None:
    data = "A_DEVICE;a port;B-Device;B_PORT\r\nGröße;p;b;q\r\n".encode("cp1252")
    assert cables(read(data)) == [("Größe", "p", "b", "q", None)]


def test_a_markdown_table_and_merged_cells_are_read() -> None:
    text = b"| A device | A port | B device | B port |\n| --- | :--- | --- | ---: |\n| h0 | p0 | s0 | p1 |\n"
    assert cables(read(text)) == [("h0", "p0", "s0", "p1", None)]

    def merge(book: object) -> None:
        book["BOM"].merge_cells("C2:C3")  # type: ignore[index]

    rows = [["A device", "A port", "B device", "B port"], ["h0", "p0", "s0", "p1"], ["h1", "p0", None, "p2"]]
    assert [entry[2] for entry in cables(read(workbook(rows, merge)))] == ["s0", "s0"]


@pytest.mark.parametrize(
    "header",
    [
        [["From", "", "To", "", ""], ["Device", "Port", "Device", "Port", "Length (m)"]],
        [["Patch list"], ["A-Side", "", "", "B-Side", "", "", ""], ["Rack", "Device", "Port", "Rack", "Device", "Port", "Cable length [m]"]],
        [["Switch side", "", "Server side", ""], ["Device", "Port", "Device", "Port", "Length"]],
    ],
)  # fmt: skip
def test_a_header_may_have_the_sides_in_a_row_above(header: list[list[str]]) -> None:
    row = ["R1", "leaf1", "p1", "R2", "web1", "p2", 3] if len(header) == 3 else ["leaf1", "p1", "web1", "p2", 3]
    for data in (csv_of([*header, row], ";").encode(), workbook([*header, row])):
        assert cables(read(data)) == [("leaf1", "p1", "web1", "p2", 3000)]
        assert [(entry.a.device, entry.b.device) for entry in read(data, ports=False).cables] == [("leaf1", "web1")]


def test_a_unit_may_be_in_the_name_of_the_column() -> None:
    for title, millimetres in (("Length (ft)", 914), ("length_cm", 30), ("Length in mm", 3), ("Length [m]", 3000)):
        (cable,) = read(
            csv_of([["a_device", "a_port", "b_device", "b_port", title], ["a", "1", "b", "2", "3"]]).encode()
        ).cables
        assert cable.length_mm == millimetres


def test_a_unit_may_be_in_the_format_of_a_cell() -> None:
    def feet(book: object) -> None:
        book["BOM"]["E2"].number_format = '0.0 "ft"'  # type: ignore[index]

    rows = [["a_device", "a_port", "b_device", "b_port", "length"], ["a", "1", "b", "2", 10], ["a", "2", "b", "3", 3]]
    assert [entry.length_mm for entry in read(workbook(rows, feet)).cables] == [3048, 3000]


def test_a_length_that_cannot_be_read_is_left_out_by_its_cell_and_its_cable_stays() -> None:
    rows = [["a_device", "a_port", "b_device", "b_port", "length"], ["a", "1", "b", "2", "long"], ["a", "2", "b", "3", "#N/A"], ["a", "3", "b", "4", "0"]]  # fmt: skip
    for listing, place in (
        (read(csv_of(rows).encode()), "line 2, column length"),
        (read(workbook(rows)), "sheet BOM, row 2, column length"),
    ):
        assert [entry.length_mm for entry in listing.cables] == [None] * 3
        assert listing.skipped[0].where == place
        assert [
            re.search(r"not a length|error of a formula|more than 0", entry.reason) is not None
            for entry in listing.skipped
        ] == [True] * 3


@pytest.mark.parametrize(
    ("title", "written", "length_mm"),
    [("length", "3000", None), ("length", "1000", 1_000_000), ("length_mm", "3000", 3000), ("length_metres", "3000", 3_000_000), ("length", "3000 m", 3_000_000)],
)  # fmt: skip
def test_a_length_without_a_unit_that_no_cable_has_is_left_out(title: str, written: str, length_mm: int | None) -> None:
    listing = read(f"{EDGES_WITH_PORTS},{title}\na,1,b,2,{written}\n".encode())
    assert [entry.length_mm for entry in listing.cables] == [length_mm]
    assert ["has no unit" in entry.reason for entry in listing.skipped] == [True] * (length_mm is None)


def test_a_row_with_one_end_is_left_out_and_its_port_is_in_use() -> None:
    listing = read(b"a_device,a_port,b_device,b_port\na,1,b,2\n,circuit,b,3\nc,,b,4\n-,x,n/a,y\n")
    assert [entry.where for entry in listing.skipped] == [
        "line 3, column a_device",
        "line 4, column a_port",
        "line 5, column a_device",
    ]
    assert [(entry.b.device, entry.b.ports) for entry in listing.loose] == [("b", ("3",)), ("b", ("4",))]


def test_a_row_is_left_out_whose_port_is_a_date_of_a_workbook() -> None:
    header = ["a_device", "a_port", "a_role", "b_device", "b_port", "speed"]
    day = datetime.date(2026, 1, 1)
    rows = [header, ["a", "1", day, "b", "2", "25G"], ["a", day, "", "b", "3", "25G"], [day, "4", "", "b", "5", ""]]
    listing = read(workbook(rows))
    assert [(entry.where, entry.a.attributes) for entry in listing.cables] == [("sheet BOM, row 2", {})]
    assert [(entry.where, entry.reason) for entry in listing.skipped] == [
        (
            f"sheet BOM, row {row}, column {column}",
            "It is a date, made of a name by a spreadsheet program: '2026-01-01'.",
        )
        for row, column in ((3, "a_port"), (4, "a_device"))
    ]
    assert [entry.b.ports for entry in listing.loose] == [("3",), ("5",)]
    # A network needs no ports.
    edges = read(workbook(rows), ports=False).cables
    assert [(entry.a.ports, entry.attributes["speed"]) for entry in edges] == [(("1",), "25G"), ((), "25G")]
    with pytest.raises(BadFileError, match="row 2, column a_port: It is a date"):
        read(workbook([header, rows[2]]))


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(BadFileError, match="Two columns are called 'a_port'"):
        read(b"a_device,a_port,a_port,b_device,b_port\na,1,2,b,2\n")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "Workbook".encode("utf-16-le"), "Excel 97 to 2003 (.xls)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "protected by a password"),
        (b"%PDF-1.7", "PDF"), (b"\x1f\x8b\x08", "gzip"), (b"PAR1", "Parquet"), (b"graph [\n  node [ id 0 ]\n]", "GML"),
        (b'Creator "yFiles"\nVersion 2.14\ngraph [\n', "GML"), (b"*Vertices 3\n1 a\n", "Pajek"), (b"<mxfile host='x'>", "draw.io"),
        (b"<!DOCTYPE html><html>", "web page"), ("<html><table>".encode("utf-16"), "web page"),
        (b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">', "Excel 2003"),
        (b'{"data": {}, "elements": {"nodes": []}}', "graph in JSON"), (b"{\\rtf1", "RTF"),
        (b"nodedef>name VARCHAR\n", "GDF"), (b"1 leaf1\n2 web1\n#\n1 2\n", "TGF"), (b"c x\np edge 3 2\n", "DIMACS"), (b"package a.b;\n", "NED"),
        (b"Topology: ( 3 Nodes, 2 Edges )\n", "BRITE"), (b'{"ietf-network:networks": {}}', "RFC 8345"), (b'{"devices": [], "links": []}', "JSON"),
        (b"-----\nLLDP neighbors:\n-----\nInterface: eth0\n", "lldpctl's output as text"), (b"lldp.eth0.via=LLDP\n", "lldpctl's output as text"),
        (b'<?xml version="1.0"?>\n<lldp label="x"/>', "lldpctl's output in XML"),
        (b"leaf1#show cdp neighbors detail\nDevice ID: s1\nInterface: Gi0/1,  Port ID (outgoing port): Gi0/2\n", "a detailed list of neighbours"),
    ],
)  # fmt: skip
def test_the_error_for_an_unreadable_file_names_its_format(data: bytes, what: str) -> None:
    with pytest.raises(BadFileError, match=re.escape(what)) as refused:
        read(data)
    assert refused.value.mistakes[0].hint
    assert problem(refused.value).status == 422


def test_archives_are_named_by_their_parts() -> None:
    def become(name: str, content: bytes = b"x") -> bytes:
        return rewritten(
            workbook([["a"]]), lambda old, data: (name, content) if old.startswith("[Con") else (f"zz/{old}", data)
        )

    for name, content, what in (
        ("mimetype", b"application/vnd.oasis.opendocument.spreadsheet", ".ods"), ("word/document.xml", b"x", ".docx"),
        ("xl/workbook.bin", b"x", ".xlsb"), ("visio/document.xml", b"x", ".vsdx"), ("readme.txt", b"x", "no workbook"),
    ):  # fmt: skip
        result = foreign.name(become(name, content))
        assert result is not None
        assert what in result[0]
    assert foreign.name(workbook([["a"]])) is None


@settings(deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"{", b"[", b"a_device,a_port,b_device,b_port\n"]))
def test_any_bytes_are_a_list_or_a_refusal(data: bytes, before: bytes) -> None:
    mistakes = []
    try:
        assert read(before + data, "h0").cables is not None
    except BadFileError as error:
        mistakes = error.mistakes
    assert all(entry.where and entry.message for entry in mistakes)


EDGES_WITH_PORTS = "a_device,a_port,b_device,b_port"
EDGES = (["source", "target"], ["web1", "leaf1"], ["web2", "leaf1"])
PAIRS = [("web1", "leaf1"), ("web2", "leaf1")]


def pairs(data: str) -> list[tuple[str, str]]:
    return [(entry.a.device, entry.b.device) for entry in read(data.encode(), ports=False).cables]


def test_rare_separators_and_lines_in_quotes_as_a_whole_are_read() -> None:
    for separator in "^~:\x1f":
        assert pairs(csv_of(EDGES, separator)) == PAIRS
    assert pairs("\n".join(f'"{",".join(row)}"' for row in EDGES)) == PAIRS
    assert pairs("\n".join(f'"""{row[0]}"";{row[1]}"' for row in EDGES)) == PAIRS


@pytest.mark.parametrize("form", ["{} {}", "{} - {}", "{}/{}", "{}:{}", "{} : {}", "{}[{}]", "{} ({})"])
def test_a_port_may_be_behind_its_device_in_one_cell(form: str) -> None:
    rows = [("leaf1", "Ethernet1/1", "web1", "eth0"), ("leaf1", "Ethernet 2", "web2", "eth0")]
    (a, b), data = ("From", "To"), [(form.format(*row[:2]), form.format(*row[2:])) for row in rows]
    listing = read(csv_of([(a, b), *data]).encode())
    assert [(cable.a.device, *cable.a.ports, cable.b.device, *cable.b.ports) for cable in listing.cables] == rows
    # A device may have a name of two words where no ports are needed.
    assert pairs(csv_of([(a, b), ("Pop A", "Pop B")])) == [("Pop A", "Pop B")]


def test_a_quotation_mark_that_is_not_closed_is_named_with_its_line() -> None:
    rows = [f"h{i},e0,s1,p{i}" for i in range(6)]
    for last in ("", '\nh9,e0,s1,"p9"'):
        broken = "\n".join([EDGES_WITH_PORTS, rows[0], f'"{rows[1]}', *rows[2:]]) + last
        with pytest.raises(BadFileError, match=r"Line 3: A quotation mark is not closed: one cell holds \d rows"):
            read(broken.encode())
    noted = f'note,{EDGES_WITH_PORTS}\n"line 1\nline 2, of three\n",h0,e0,s1,p0\n'
    assert len(read(noted.encode()).cables) == 1


def test_a_rate_that_cannot_be_read_is_left_out_by_its_cell_and_its_link_stays() -> None:
    listing = read(b"source,target,speed\nweb1,leaf1,25G\nweb2,leaf1,#N/A\n", ports=False)
    assert [entry.attributes for entry in listing.cables] == [{"speed": "25G"}, {}]
    assert [(entry.where, entry.reason) for entry in listing.skipped] == [
        ("line 3, column speed", "Is #N/A, an error of a formula.")
    ]


@pytest.mark.parametrize(
    ("header", "encoding"),
    [("\u6a5f\u5668A,\u30dd\u30fc\u30c8A,\u6a5f\u5668B,\u30dd\u30fc\u30c8B", "cp932"), ("\u8bbe\u5907A,\u7aef\u53e3A,\u8bbe\u5907B,\u7aef\u53e3B", "gbk"),
     ("\u8a2d\u5099A,portA,\u8a2d\u5099B,portB", "big5"),
     ("\u0443\u0441\u0442\u0440\u043e\u0439\u0441\u0442\u0432\u043eA,\u043f\u043e\u0440\u0442A,\u0443\u0441\u0442\u0440\u043e\u0439\u0441\u0442\u0432\u043eB,\u043f\u043e\u0440\u0442B", "cp1251")],
)  # fmt: skip
def test_a_header_is_found_in_the_encoding_of_its_country(header: str, encoding: str) -> None:
    (cable,) = read(f"{header}\nh0,e0,s1,p0\n".encode(encoding)).cables
    assert (cable.a.device, cable.a.ports, cable.b.device, cable.b.ports) == ("h0", ("e0",), "s1", ("p0",))


@pytest.mark.parametrize(
    ("line", "reason"),
    [("# web3,leaf1", "a comment"), ("#web3,leaf1", "a comment"), ("//web3,leaf1", "a comment"), ("Source,Target", "the header again"),
     ("Total,2", "totals"), ("Summe:,2", "totals")],
)  # fmt: skip
def test_lines_between_cables_are_left_out_with_their_reason(line: str, reason: str) -> None:
    rows = [",".join(row) for row in EDGES]
    listing = read("\n".join([*rows[:2], line, *rows[2:]]).encode(), ports=False)
    assert [(entry.a.device, entry.b.device) for entry in listing.cables] == PAIRS
    assert [(entry.where, reason in entry.reason) for entry in listing.skipped] == [("line 3", True)]


@pytest.mark.parametrize("words", ["", "n/a", "TBD", "spare", "frei", "k. A.", "reserved", "Nicht verbunden", "\u2014", "...", "unassigned", "libre"])  # fmt: skip
def test_a_cell_that_names_nothing_is_no_device(words: str) -> None:
    listing = read(csv_of([*EDGES, [words, "leaf1"]]).encode(), ports=False)
    assert len(listing.cables) == 2
    assert [entry.where for entry in listing.skipped] == ["line 4, column source"]


@pytest.mark.parametrize("words", ["#N/A", "#NV", "#N/D", "#BEZUG!", "#VALEUR !", "#\u00a1REF!", "#\u00bfNOMBRE?", "#\u00dcBERLAUF!", "#DIV/0!", "Err:508", "#####"])  # fmt: skip
def test_an_error_of_a_formula_is_no_device_in_any_language(words: str) -> None:
    with pytest.raises(BadFileError, match=r"Line 4, column source: The cell is .*an error of a formula"):
        read(csv_of([*EDGES, [words, "leaf1"]]).encode(), ports=False)


def test_a_title_of_many_spaces_is_no_name_with_a_unit() -> None:
    rows = [["a_host_name", "a_port", "b_host_name", "b_port", f"length{' ' * 100_000}x"], ["h0", "1", "s0", "2", "3"]]
    (cable,) = read(csv_of(rows, ",").encode()).cables
    assert cable.length_mm is None
