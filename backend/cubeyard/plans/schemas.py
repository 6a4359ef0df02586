"""Requests and responses of the plan endpoints, apart from the engine's documents."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from cubeyard.kit.models import Model
from cubeyard.kit.text import PlainText
from cubeyard.plans.documents import Bom, Cables, Counts, DiffCounts, Scene, Summary

NAME_MAX_CHARACTERS = 120
EXAMPLE_SPEC = {"topology": {"family": "bcube", "n": 8, "k": 3, "servers": 2048}, "catalog": "current-2026"}
list_of = list
"""An alias of `list`, for the model that has a field with that name."""
EXAMPLE_ID = "0a1b2c3d4e5f6g"


def _printable(name: str) -> str:
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not name:
        raise ValueError("a name needs at least one letter")
    if any(unicodedata.category(letter) in {"Cc", "Cs", "Co", "Cn"} for letter in name):
        raise ValueError("a name holds no control characters")
    return name


Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=NAME_MAX_CHARACTERS,
        description="The plan's name.",
        examples=["Yard A, 2,048 servers"],
    ),
    AfterValidator(_printable),
]
Spec = Annotated[
    dict[str, Any],
    Field(
        description="A plan spec, or only a topology spec (an object with `family`). See `GET /topologies` for the families.",
        examples=[EXAMPLE_SPEC],
    ),
]
Note = Annotated[PlainText, Field(max_length=500, description="The reason, shown in the history.")]
PlanOrder = Literal["updated_at", "created_at"]
Revision = Annotated[int, Field(ge=1, le=2_147_483_647)]
CatalogVersion = Annotated[
    Annotated[int, Field(ge=1, le=2_147_483_647)] | Literal["latest"] | None,
    Field(
        description="Version of the price book that `spec.catalog` names; default: the version that the plan pins, or the latest."
    ),
]
DeviceOrLink = Annotated[PlainText, Field(min_length=1, max_length=240, examples=["00"])]
Include = Literal["summary", "scene", "bom", "cables"]


class Request(Model):
    model_config = ConfigDict(extra="forbid")


class Choice(Model):
    value: str | int
    title: str


class Parameter(Model):
    """One parameter of a family's spec."""

    model_config = ConfigDict(extra="forbid")

    name: str
    letter: str | None = None
    title: str
    kind: str = Field(description="`integer`, `number`, `enum`, `list`, `nodes` or `links`.")
    list: bool = Field(description="Whether several values may be given.")
    min: float | None = None
    max: float | None = None
    default: Any = None
    default_doc: str | None = None
    unit: str | None = None
    doc: str
    required: bool
    choices: list_of[Choice] | None = None


class Preset(Model):
    title: str
    spec: dict[str, Any]


class Routing(Model):
    name: str = Field(examples=["bsr"])
    summary: str


class Family(Model):
    """A topology family and the parameters of its spec."""

    model_config = ConfigDict(extra="forbid")

    family: str
    title: str
    summary: str
    source: str
    names: str = Field(description="How its servers and switches are named.")
    parameters: list[Parameter]
    example: dict[str, Any]
    presets: list[Preset]
    routings: list[Routing] = Field(
        description="The routing schemes for this family; the scheme of its paper is first."
    )


class PreviewRequest(Request):
    spec: Spec
    include: list[Include] = Field(
        default=["summary"], max_length=4, description="Which documents to return; the summary always comes."
    )
    catalog_version: CatalogVersion = None
    base: Spec | str | None = Field(
        default=None, description="A spec, or the hash of a recently computed plan, to compute differences from."
    )


class Delta(Model):
    """One number of a plan next to the base plan's number."""

    metric: str
    title: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    value: float | None
    base: float | None
    delta: float | None


class PreviewResponse(Model):
    summary: Summary
    scene: Scene | None = None
    bom: Bom | None = None
    cables: Cables | None = None
    deltas: list[Delta] | None = Field(
        default=None, description="Differences from the base, if the request names a base that exists."
    )


class PathsRequest(Request):
    """Two servers of a plan, and the parts to remove first."""

    spec: Spec
    source: DeviceOrLink
    destination: DeviceOrLink
    without: list[DeviceOrLink] = Field(
        default=[],
        max_length=100,
        description="Servers, switches, racks and links, by name; a link by its two ends.",
        examples=[["00/<0,0>"]],
    )


class ServerPath(Model):
    links: list[int] = Field(description="Numbers of its cables, starting at the source: the rows of `cables`.")
    devices: list[str] = Field(
        description="Names of its devices, both ends included.", examples=[["00", "<0,0>", "01"]]
    )


class ServerPaths(Model):
    """A largest set of paths that share no devices except the ends, with the smallest total length.
    Servers with one port also share their switch."""

    source: str
    destination: str
    without: list[str]
    reason: Literal["source-failed", "destination-failed", "no-path"] | None = Field(
        description="The reason why no path exists; null if a path exists."
    )
    paths: list[ServerPath] = Field(description="The shortest first.")


class PlanCreate(Request):
    name: Name
    spec: Spec
    catalog_version: CatalogVersion = None
    note: Note = ""


class PlanUpdate(Request):
    """To change the spec, send `base_revision`, or an `If-Match` header with the plan's ETag."""

    name: Name | None = None
    spec: Spec | None = None
    catalog_version: CatalogVersion = None
    note: Note = ""
    base_revision: Revision | None = None


class RevertRequest(Request):
    revision: Revision = Field(description="The earlier revision whose content becomes the plan's again.")
    base_revision: Revision | None = None


class CatalogPin(Model):
    book: str
    version: int


class Plan(Model):
    id: str = Field(examples=[EXAMPLE_ID])
    name: str
    revision: int
    head_revision: int
    created_at: datetime
    updated_at: datetime
    plan_hash: str
    content_hash: str
    catalog: CatalogPin
    note: str
    spec: dict[str, Any] = Field(description="The spec as it was saved; `summary.spec` has every default filled in.")
    summary: Summary


class PlanListItem(Model):
    id: str = Field(examples=[EXAMPLE_ID])
    name: str
    revision: int
    created_at: datetime
    updated_at: datetime
    plan_hash: str
    title: str
    counts: Counts
    cost_usd_total: float = Field(description="In `currency`.")
    currency: str = Field(description="ISO 4217 code of the price book's currency.")
    at_least: bool
    power_watts_total: float


class PlanList(Model):
    items: list[PlanListItem]
    next: str | None = Field(default=None, description="Give this as `cursor` for the following page; null at the end.")


class RevisionItem(Model):
    revision: int
    kind: Literal["create", "edit", "revert"]
    reverted_from: int | None
    created_at: datetime
    plan_hash: str
    content_hash: str
    catalog: CatalogPin
    note: str
    title: str


class RevisionList(Model):
    head_revision: int
    items: list[RevisionItem]


class ComparePlan(Request):
    """Either a saved plan or a spec."""

    id: str | None = Field(default=None, max_length=64)
    revision: Revision | None = None
    spec: Spec | None = None
    name: Name | None = None


class CompareRequest(Request):
    plans: list[ComparePlan] = Field(min_length=2, max_length=4)
    base: int = Field(default=0, ge=0, le=3, description="The plan that the others are compared with.")
    rates: list[Annotated[str, Field(max_length=40)]] = Field(
        default_factory=list,
        max_length=8,
        description="Value of a unit of each currency, in the base's currency. Amounts in another currency are compared only at a stated rate.",
        examples=[["EUR=1.08"]],
    )


class ComparedPlan(Model):
    id: str | None
    revision: int | None
    name: str
    title: str
    plan_hash: str
    certificate_passed: bool
    findings: int = Field(description="Warnings and errors; remarks do not count, as on the plan's own page.")
    currency: str = Field(description="Currency of the plan's price book, as an ISO 4217 code.")
    at_least: bool


class CompareRow(Model):
    metric: str
    title: str
    unit: str
    group: str
    better: Literal["lower", "higher", "neither"]
    values: list[float | None]
    exact: list[bool | None] = Field(
        description="For a closed form: whether the value is exact; if not, its note names the bound."
    )
    notes: list[str] = Field(description="How to read each value; empty if it needs no explanation.")
    deltas: list[float | None] = Field(description="Each value minus the base's.")
    ratios: list[float | None] = Field(
        description="Each value divided by the base's; null where the base is zero or unknown."
    )
    best: list[int] = Field(description="The plans with the best value; empty if the metric has no better direction.")


class CompareResponse(Model):
    base: int
    plans: list[ComparedPlan]
    rows: list[CompareRow]


class ComparedRevision(Model):
    revision: int
    title: str
    created_at: datetime
    plan_hash: str


class SpecChange(Model):
    field: str = Field(description="The field of the spec, like `topology.n`; `catalog` for the price book's version.")
    before: str | None = Field(description="Its value as JSON, shortened; null if absent.")
    after: str | None


class Named(Model):
    count: int
    names: list[str] = Field(description="The first of them.")


class PlaceChanges(Model):
    added: Named
    removed: Named
    moved: Named = Field(description="Racks or devices that are in both revisions at different places.")


class RevisionComparison(Model):
    before: ComparedRevision
    after: ComparedRevision
    spec: list[SpecChange]
    racks: PlaceChanges
    devices: PlaceChanges
    cables: DiffCounts = Field(
        description="Cables as in the work order: a cable is identified by the ports that it connects."
    )
    numbers: list[Delta] = Field(description="Every metric of the plan: `value` after, `base` before.")
