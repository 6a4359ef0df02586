"""A plan as files. One module or folder per format, streamed, deterministic: the same plan gives the same bytes.

In: the list of formats (`_ALL`), their renderers, and what they share (`tables.py`, `text.py`, `links.py`, `palette.py`).

Not in: the database, HTTP and the engine: a renderer gets a computed plan (`PlanView`) and yields bytes. Renderers import
their libraries when they are first used, so that a server that only answers JSON does not load a PDF typesetter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from cubeyard.exports.formats import ExportFormat, Progress, UnknownExportFormatError, no_progress
from cubeyard.exports.options import NO_OPTIONS, ExportOptionError, ExportOptions
from cubeyard.exports.text import file_title
from cubeyard.plans.view import PlanView

__all__ = [
    "FORMATS", "ExportFormat", "ExportOptionError", "ExportOptions", "Progress", "UnknownExportFormatError", "check_for", "file_name", "render",
]  # fmt: skip

Renderer = Callable[..., Iterator[bytes]]
"""`(plan, progress)`, and the options if the format has any but the paper, which is the plan's."""

_CSV = "text/csv; charset=utf-8"
_ALL = (
    (
        ExportFormat("csv", _CSV, "csv", "Cable schedule (CSV)", "Every cable with rack, unit, device and port at both ends."),
        "csv_files:cable_schedule",
    ),
    (
        ExportFormat(
            "bom-csv", _CSV, "bom.csv", "Bill of materials (CSV)",
            "Parts by type, length and colour with spares, prices and the source of each price.",
        ),
        "csv_files:bill_of_materials",
    ),
    (
        ExportFormat(
            "labels", _CSV, "labels.csv", "Labels for a printer (CSV)",
            "Two TIA-606 style labels a cable, one for each end, for a label printer's data source.",
        ),
        "csv_files:printer_labels",
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
            "Container, racks, trays, bundles, elevations and devices on layers of their own, in metres.",
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
            "graphml", "application/graphml+xml", "graphml", "Network graph (GraphML)",
            "Devices and cables with their positions, for NetworkX, yEd and Gephi.",
        ),
        "graphml:graph_document",
    ),
    (
        ExportFormat(
            "dot", "text/vnd.graphviz", "dot", "Cable graph (Graphviz DOT)",
            "Every cable with its ports, for the Prescriptive Topology Manager (topology.dot), NVIDIA Air and Graphviz.",
        ),
        "dot:cable_graph",
    ),
    (
        ExportFormat(
            "ansible", "application/yaml", "inventory.yml", "Ansible inventory (YAML)",
            "Every device by host name with its place and part, in groups by kind, level and rack.",
        ),
        "inventory:ansible_inventory",
    ),
    (
        ExportFormat(
            "slurm", "text/plain; charset=utf-8", "topology.conf", "Slurm topology (topology.conf)",
            "Which servers share a switch, for Slurm's plugin topology/tree.",
        ),
        "inventory:slurm_topology",
    ),
    (
        ExportFormat(
            "kubernetes", "application/yaml", "nodes.yml", "Kubernetes node labels (YAML)",
            "Zone, rack and switch of each server as labels of its node.",
        ),
        "inventory:kubernetes_labels",
    ),
    (
        ExportFormat(
            "containerlab", "application/yaml", "clab.yml", "Lab topology (containerlab)",
            "Every device as a container, every cable as a link, with addresses and routes between all servers.",
        ),
        "clab:topology_file",
    ),
    (
        ExportFormat(
            "containerlab-image", "text/x-dockerfile", "Dockerfile", "Lab image (Dockerfile)",
            "The image of the lab's containers, to be built once.",
        ),
        "clab:image_recipe",
    ),
    (
        ExportFormat(
            "containerlab-rates-script", "text/x-shellscript", "rates.sh", "Lab link rates (shell script)",
            "Gives each link of a running lab its rate, divided by RATE_DIVISOR.",
        ),
        "clab:rates_script",
    ),
    (
        ExportFormat(
            "containerlab-rates", _CSV, "rates.csv", "Lab link rates (CSV)",
            "The rate of each link of the containerlab file, which cannot hold it.",
        ),
        "clab:rates_file",
    ),
    (
        ExportFormat(
            "netbox", "application/zip", "netbox.zip", "NetBox 4 import (zip of CSV)",
            "Sites to cables as numbered CSV files in import order.",
        ),
        "netbox:netbox_archive",
    ),
)  # fmt: skip

FORMATS: dict[str, ExportFormat] = {entry.name: entry for entry, _ in _ALL}
_RENDERERS: dict[str, str] = {entry.name: where for entry, where in _ALL}


def render(
    format: str, plan: PlanView, progress: Progress | None = None, options: ExportOptions = NO_OPTIONS
) -> Iterator[bytes]:
    """The plan as `format`, in pieces. Of the options those count that the format takes; `paper` is the plan's already.

    Raises `UnknownExportFormatError` at once for a name that is not in `FORMATS`; the work itself starts with the first piece.
    `progress` is called with a fraction and a few words while the pieces are made.
    """
    if format not in _RENDERERS:
        raise UnknownExportFormatError(format, list(FORMATS))
    module, function = _RENDERERS[format].split(":")
    renderer: Renderer = getattr(import_module(f"cubeyard.exports.{module}"), function)
    check_for(format, plan, options)
    told = progress or no_progress
    chosen = set(FORMATS[format].options) - {"paper"}
    return renderer(plan, told, options) if chosen else renderer(plan, told)


def check_for(format: str, plan: PlanView, options: ExportOptions) -> None:
    """Raises `ExportOptionError` for an option that this plan does not allow."""
    if "first_label" in FORMATS[format].options and options.first_label > 1:
        from cubeyard.exports.pdf.stocks import stock_of

        stock = stock_of(plan)
        if options.first_label > stock.labels:
            message = f"A sheet of {stock.name} has {stock.labels} labels."
            raise ExportOptionError("first_label", options.first_label, message, limit=f"1 to {stock.labels}")


def file_name(format: str, plan: PlanView) -> str:
    """`Paper-container-1a2b3c4d.xlsx`: the plan's name without what a file system refuses, the start of its hash, the format's extension."""
    if format not in FORMATS:
        raise UnknownExportFormatError(format, list(FORMATS))
    return f"{file_title(plan.name)}-{plan.plan_hash[:8]}.{FORMATS[format].extension}"
