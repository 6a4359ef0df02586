"""Writes a plan as files. One module or folder per format; output is streamed and deterministic:
the same plan gives the same bytes.

Inside: the list of formats (`_ALL`), their renderers, and what they share (`tables.py`, `text.py`,
`links.py`, `palette.py`, `power.py`, `interfaces.py`).

Not here: the database, HTTP and the engine: a renderer gets a computed plan (`PlanView`) and yields
bytes. Renderers import their libraries on first use, so that a server that only answers JSON does
not load a PDF typesetter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from cubeyard.exports.formats import (
    CREW,
    GROUPS,
    NETWORK,
    RESEARCH,
    ExportFormat,
    Progress,
    UnknownExportFormatError,
    no_progress,
)
from cubeyard.exports.options import NO_OPTIONS, ExportOptionError, ExportOptions
from cubeyard.exports.text import file_title
from cubeyard.kit.whole_file import whole_file
from cubeyard.plans.view import PlanView

__all__ = [
    "FORMATS", "ExportFormat", "ExportOptionError", "ExportOptions", "Progress", "UnknownExportFormatError", "check_for", "file_name", "render", "write_file",
]  # fmt: skip

Renderer = Callable[..., Iterator[bytes]]
"""Takes `(plan, progress)`, and the options if the format has any except the paper size, which the
plan contains."""

_CSV = "text/csv; charset=utf-8"
_ALL = (
    (
        ExportFormat("csv", _CSV, "csv", "Cable schedule (CSV)", "Every cable with rack, unit, host name and port at both ends.", CREW),
        "csv_files:cable_schedule",
    ),
    (
        ExportFormat(
            "bom-csv", _CSV, "bom.csv", "Bill of materials (CSV)",
            "Parts by type, length and colour with spares, prices and the source of each price.",
            CREW,
        ),
        "csv_files:bill_of_materials",
    ),
    (
        ExportFormat(
            "labels", _CSV, "labels.csv", "Labels for a printer (CSV)",
            "Two TIA-606 style labels a cable, one for each end, for the program of a label printer: Brady, Brother or DYMO.",
            CREW, "Read back as CSV. Not opened in Brady Workstation, P-touch Editor or DYMO Connect.", ("printer",),
        ),
        "printers:labels",
    ),
    (
        ExportFormat(
            "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx", "Workbook (XLSX)",
            "Summary, bill of materials, cable schedule and one sheet a rack, with formulas for the totals.",
            options=("paper",),
        ),
        "workbook:workbook",
    ),
    (
        ExportFormat(
            "pdf", "application/pdf", "pdf", "Install pack (PDF)",
            "Floor plan and elevations to scale, cable sheets by rack, switch and tray, pull order, labels with QR codes.",
            options=("paper", "first_label", "codes", "link"),
        ),
        "pdf:install_pack",
    ),
    (
        ExportFormat(
            "json", "application/json", "json", "Plan document (JSON)",
            "The whole plan in columns; its spec plans the same plan again.",
        ),
        "document:plan_document",
    ),
    (
        ExportFormat(
            "svg", "image/svg+xml", "svg", "Drawing (SVG)",
            "Floor plan 1 : 50 and rack elevations 1 : 25 in millimetres, for light and dark.",
        ),
        "drawing:drawing_file",
    ),
    (
        ExportFormat(
            "dxf", "image/vnd.dxf", "dxf", "Floor plan and elevations (DXF)",
            "Container, racks, trays, bundles, elevations and devices on separate layers, in metres.",
            options=("solid",),
        ),
        "cad:floor_drawing",
    ),
    (
        ExportFormat(
            "gltf", "model/gltf-binary", "glb", "3D model (glTF)",
            "The container with its racks, devices, trays and bundles as named bodies, in metres.",
        ),
        "gltf:model",
    ),
    (
        ExportFormat(
            "drawio", "application/vnd.jgraph.mxfile", "drawio", "Rack elevations (draw.io)",
            "A page a row of racks, every device a shape with its names, place and part.",
            checked="Read back as XML by the documented structure. Not opened in draw.io.",
        ),
        "drawio:elevation_pages",
    ),
    (
        ExportFormat(
            "graphml", "application/graphml+xml", "graphml", "Network graph (GraphML)",
            "Devices and cables with their positions, for NetworkX, yEd and Gephi.",
            RESEARCH,
        ),
        "graphml:graph_document",
    ),
    (
        ExportFormat(
            "dot", "text/vnd.graphviz", "dot", "Cable graph (Graphviz DOT)",
            "Every cable with its ports, for the Prescriptive Topology Manager (topology.dot), NVIDIA Air and Graphviz.",
            NETWORK,
        ),
        "dot:cable_graph",
    ),
    (
        ExportFormat(
            "ansible", "application/yaml", "inventory.yml", "Ansible inventory (YAML)",
            "Every device by host name with its place, part and address, in groups by kind, level and rack.",
            NETWORK,
        ),
        "inventory:ansible_inventory",
    ),
    (
        ExportFormat(
            "slurm", "text/plain; charset=utf-8", "topology.conf", "Slurm topology (topology.conf)",
            "Which servers share a switch, for Slurm's plugin topology/tree.",
            NETWORK,
        ),
        "inventory:slurm_topology",
    ),
    (
        ExportFormat(
            "kubernetes", "application/yaml", "nodes.yml", "Kubernetes node labels (YAML)",
            "Zone, rack and switch of each server as labels of its node.",
            NETWORK,
        ),
        "inventory:kubernetes_labels",
    ),
    (
        ExportFormat(
            "containerlab", "application/yaml", "clab.yml", "Lab topology (containerlab)",
            "Every device as a container, every cable as a link, with addresses and routes between all servers.",
            RESEARCH,
        ),
        "clab:topology_file",
    ),
    (
        ExportFormat(
            "containerlab-image", "text/x-dockerfile", "Dockerfile", "Lab image (Dockerfile)",
            "The image of the lab's containers, to be built once.",
            RESEARCH,
        ),
        "clab:image_recipe",
    ),
    (
        ExportFormat(
            "containerlab-rates-script", "text/x-shellscript", "rates.sh", "Lab link rates (shell script)",
            "Gives each link of a running lab its rate, divided by RATE_DIVISOR.",
            RESEARCH,
        ),
        "clab:rates_script",
    ),
    (
        ExportFormat(
            "containerlab-rates", _CSV, "rates.csv", "Lab link rates (CSV)",
            "The rate of each link of the containerlab file, which cannot hold it.",
            RESEARCH,
        ),
        "clab:rates_file",
    ),
    (
        ExportFormat(
            "netbox", "application/zip", "netbox.zip", "NetBox 4 import (zip of CSV)",
            "Sites to cables and power as numbered CSV files in import order, and the device types as YAML.",
            NETWORK,
        ),
        "netbox:netbox_archive",
    ),
    (
        ExportFormat(
            "power", _CSV, "power.csv", "Power schedule (CSV)",
            "Every power cord with its device, PDU and outlet, and what device, PDU and rack draw.", CREW,
        ),
        "power:power_schedule",
    ),
    (
        ExportFormat(
            "tester", _CSV, "tester.csv", "Cable list for a tester (CSV)",
            "Ids, test limits and ends of the cables that a field tester certifies: twisted pair and fibre.", CREW,
            "Read back as CSV. Not loaded into a tester or into LinkWare.",
        ),
        "printers:tester_list",
    ),
    (
        ExportFormat(
            "hosts", "text/plain; charset=utf-8", "hosts", "Hosts file",
            "Address and host name of every device, for /etc/hosts.", NETWORK,
        ),
        "addresses:hosts_file",
    ),
    (
        ExportFormat(
            "dnsmasq", "text/plain; charset=utf-8", "dnsmasq.conf", "DHCP and DNS (dnsmasq)",
            "A fixed lease and a DNS record for every device by its host name.", NETWORK,
        ),
        "addresses:dnsmasq_file",
    ),
    (
        ExportFormat(
            "kea", "application/json", "kea-dhcp4.json", "DHCP (Kea)",
            "A fixed lease for every server by the switch port that it is plugged into (option 82), for every other device by its name.",
            NETWORK,
        ),
        "addresses:kea_document",
    ),
    (
        ExportFormat(
            "nvidia-p2p", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "p2p.xlsx",
            "NVIDIA point-to-point (XLSX)", "Both ends of every cable in the columns of NVIDIA's Cable Validation Tool.", NETWORK,
            "Written from the tool's manual and read back by openpyxl. Not opened in the tool.",
        ),
        "managers.nvidia:point_to_point",
    ),
    (
        ExportFormat(
            "ufm", "text/plain; charset=utf-8", "topo", "Fabric topology (UFM .topo)",
            "Every device with its cables, for UFM's topology comparison and ibtopodiff.", NETWORK,
            "Read by ibdmchk of ibutils 1.5.7. Not opened in UFM.",
        ),
        "managers.ufm:topology_sections",
    ),
    (
        ExportFormat(
            "apstra", "application/json", "cabling-map.json", "Cabling map (Apstra)",
            "Links by label with both ends, as Apstra's REST API has them; identifiers come from the blueprint.", NETWORK,
            "Written from public examples of the API. Not sent to Apstra.",
        ),
        "managers.apstra:cabling_map",
    ),
    (
        ExportFormat(
            "ns3", "text/plain; charset=utf-8", "ns3.txt", "Network for ns-3 (HPCC form)",
            "Nodes, switches and links with rate and delay, as HPCC, ASTRA-sim and other ns-3 simulators read them.", RESEARCH,
            "Read back by the documented grammar. Not run in a simulator.",
        ),
        "simulators:ns3_topology",
    ),
    (
        ExportFormat(
            "ns3-inet", "text/plain; charset=utf-8", "inet", "Network for ns-3 (Inet form)",
            "Nodes and links by host name for ns-3's InetTopologyReader.", RESEARCH,
            "Read by ns-3 3.44.",
        ),
        "simulators:ns3_inet",
    ),
    (
        ExportFormat(
            "htsim", "text/plain; charset=utf-8", "htsim.topo", "Network for htsim (fat-tree file)",
            "Tiers of a fat-tree or leaf-spine with speeds, ports and delays. Other families are refused.", RESEARCH,
            "Read back by htsim's grammar. Not run in htsim.",
        ),
        "simulators:htsim_topology",
    ),
)  # fmt: skip

FORMATS: dict[str, ExportFormat] = {
    entry.name: entry
    for group in GROUPS
    for entry, _ in sorted(_ALL, key=lambda item: item[0].unproven)
    if entry.group == group
}
"""Formats by name, grouped by heading in the order of `GROUPS`, in each group the unproven ones
last."""
_RENDERERS: dict[str, str] = {entry.name: where for entry, where in _ALL}


def render(
    format: str, plan: PlanView, progress: Progress | None = None, options: ExportOptions = NO_OPTIONS
) -> Iterator[bytes]:
    """Yields the plan as `format`, in pieces. Options that the format does not accept are ignored;
    `paper` is already part of the plan.

    Raises `UnknownExportFormatError` at once for a name that is not in `FORMATS`; the work itself
    starts with the first piece. `progress` is called with a fraction and a short description while
    the pieces are made.
    """
    if format not in _RENDERERS:
        raise UnknownExportFormatError(format, list(FORMATS))
    module, function = _RENDERERS[format].split(":")
    renderer: Renderer = getattr(import_module(f"cubeyard.exports.{module}"), function)
    check_for(format, plan, options)
    reported = progress or no_progress
    chosen = set(FORMATS[format].options) - {"paper"}
    return renderer(plan, reported, options) if chosen else renderer(plan, reported)


def write_file(
    format: str,
    plan: PlanView,
    target: Path,
    progress: Progress | None = None,
    options: ExportOptions = NO_OPTIONS,
) -> None:
    """Writes the export to a file, whole or not at all."""
    with whole_file(target) as file:
        for piece in render(format, plan, progress, options):
            file.write(piece)


def check_for(format: str, plan: PlanView, options: ExportOptions) -> None:
    """Raises `ExportOptionError` for an option that is not allowed for this plan."""
    if "first_label" in FORMATS[format].options and options.first_label > 1:
        from cubeyard.exports.pdf.stocks import stock_of

        stock = stock_of(plan)
        if options.first_label > stock.labels:
            message = f"A sheet of {stock.name} has {stock.labels} labels."
            raise ExportOptionError("first_label", options.first_label, message, limit=f"1 to {stock.labels}")


def file_name(format: str, plan: PlanView) -> str:
    """`Paper-container-1a2b3c4d.xlsx`: the plan's name without characters that file systems reject,
    the start of its hash, the format's extension."""
    if format not in FORMATS:
        raise UnknownExportFormatError(format, list(FORMATS))
    return f"{file_title(plan.name)}-{plan.plan_hash[:8]}.{FORMATS[format].extension}"
