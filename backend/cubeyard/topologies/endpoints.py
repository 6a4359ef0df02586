"""`/api/v1/topologies/import`: a file with a network, as a topology that a plan takes."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Query, Request, Response

from cubeyard.kit.asgi import ANY_MEDIA_TYPE, CSV_MEDIA_TYPE, JSON_MEDIA_TYPE, XLSX_MEDIA_TYPE
from cubeyard.kit.errors import responses
from cubeyard.kit.responses import json_bytes
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.reading.numbers import Mark
from cubeyard.topologies.importing import ImportOptions, check, imported_json, patterns_of
from cubeyard.topologies.network import MAX_BYTES, MAX_LINKS, MAX_NODES, Format
from cubeyard.topologies.rates import Unit
from cubeyard.topologies.schemas import ImportedTopology

router = api_router(tags=["topologies"])

IMPORT_PATH = re.compile(r"/api/v1/topologies/import")
"""The path that takes a file as its body."""
GRAPHML_MEDIA_TYPE, GEXF_MEDIA_TYPE = "application/graphml+xml", "application/gexf+xml"
DOT_MEDIA_TYPE, YAML_MEDIA_TYPE = "text/vnd.graphviz", "application/yaml"
IMPORT_MEDIA_TYPES = (
    ANY_MEDIA_TYPE,
    GRAPHML_MEDIA_TYPE,
    GEXF_MEDIA_TYPE,
    DOT_MEDIA_TYPE,
    CSV_MEDIA_TYPE,
    YAML_MEDIA_TYPE,
    JSON_MEDIA_TYPE,
    XLSX_MEDIA_TYPE,
)
_EXAMPLE = "source,target,gbps\r\nweb-1,leaf-1,10\r\nweb-2,leaf-1,10\r\nleaf-1,spine-1,40\r\n"
BODY = {
    "requestBody": {
        "required": True,
        "description": "A file of GraphML, GEXF, Graphviz DOT, an edge list (CSV, XLSX), containerlab (YAML), NetBox's cables (CSV, XLSX or JSON) or "
        f"lldpctl's JSON: at most {MAX_BYTES // 1024 // 1024} MiB, {MAX_NODES:,} nodes and {MAX_LINKS:,} links.",
        "content": {
            media_type: {
                "schema": (
                    {"type": "object", "additionalProperties": True}
                    if media_type == JSON_MEDIA_TYPE
                    else {"type": "string"}
                ),
                **({"example": _EXAMPLE} if media_type == CSV_MEDIA_TYPE else {}),
            }
            for media_type in IMPORT_MEDIA_TYPES
        },
    }
}


async def read_body(request: Request) -> bytes:
    """As it was sent: the readers find out what it is."""
    return await request.body()


@router.post(
    "/topologies/import",
    operation_id="import_topology",
    summary="A network that another program describes, as a topology",
    response_model=ImportedTopology,
    responses=responses(),
    openapi_extra=BODY,
)
async def import_file(
    http: Request,
    file: Annotated[bytes, Depends(read_body)],
    name: Annotated[
        PlainText, Query(max_length=255, description="The file's name, which may indicate its format.")
    ] = "",
    format: Annotated[Format | None, Query(description="By default detected from the file.")] = None,
    servers: Annotated[
        PlainText | None,
        Query(
            max_length=5_000,
            description="Patterns of names that are servers, with commas between them.",
            examples=["web*"],
        ),
    ] = None,
    switches: Annotated[
        PlainText | None,
        Query(
            max_length=5_000, description="The same for switches; if both match, it is a switch.", examples=["leaf*"]
        ),
    ] = None,
    link_gbps: Annotated[
        float | None, Query(description="Rate of links about which the file says nothing; 10 if left out.")
    ] = None,
    rate_unit: Annotated[Unit | None, Query(description="The unit of rates that are bare numbers.")] = None,
    decimal: Annotated[
        Mark | None, Query(description="The decimal mark of the rates; default: detected from all rates.")
    ] = None,
) -> Response:
    """The `spec` goes into a plan as it is. Nothing is stored."""
    options = ImportOptions(format, patterns_of(servers), patterns_of(switches), link_gbps, rate_unit, decimal)
    check(options)
    return json_bytes(await http.app.state.readers.read(http, imported_json, file, name, options))
