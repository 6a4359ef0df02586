"""The document of a comparison: what differs, and the work order."""

from __future__ import annotations

from pydantic import Field

from cubeyard.asbuilt.matching import Kind
from cubeyard.asbuilt.steps import Action
from cubeyard.kit.models import Model
from cubeyard.reading.cables.listing import Format
from cubeyard.reading.report import MAX_SKIPPED, SkippedRow


class End(Model):
    """One end of a cable. Rack and unit are null and empty for a device that the plan does not
    have."""

    device: str = Field(description="The host name; as the list names it where the plan has no such device.")
    port: str
    rack: str | None
    unit: str = Field(description="`12` or `12B`, as on labels.")
    known: bool = Field(description="Whether it is a port of the plan.")
    written: str = Field(
        default="", description="Device and port as the list writes them, where that is not as the plan does."
    )


class PlannedEnds(Model):
    a: End
    b: End
    length_mm: int = Field(description="As ordered.")


class FoundEnds(Model):
    """Its ends in the order of the planned ones, where that can be said."""

    a: End
    b: End
    length_mm: int | None = Field(description="Null where the list does not tell it.")
    where: str = Field(description="Where the list has it, like `line 12`.")


class AsBuiltDifference(Model):
    kind: Kind
    cable: int | None = Field(
        description="The planned cable's number: 12 is the cable C00012. Null for one not planned."
    )
    name: str = Field(description="`C00012`; empty for one that is not planned.")
    expected: PlannedEnds | None
    found: FoundEnds | None
    note: str = Field(description="What differs, in words; empty where the kind says it all.")


class AsBuiltStep(Model):
    number: int = Field(description="From 1; the steps in this order never need a port that is taken.")
    action: Action
    cable: int | None = Field(description="What the cable is from then on; null for one that is taken out.")
    name: str
    rack: str = Field(description="Where the first of its ports is; empty if the plan has none of them.")
    out: list[End] = Field(description="Ports that ends leave.")
    into: list[End] = Field(description="Ports that ends go into, after that.")
    stays: End | None = Field(description="Where the cable's other end is all the time.")
    length_mm: int | None = Field(description="The length that was ordered for it.")
    after: int | None = Field(description="The step that frees a port for this one.")
    reuses: int | None = Field(description="The step that took out the cable that is put in here.")
    text: str = Field(description="The step as a sentence.")


class AsBuiltOrder(Model):
    """The fewest plug operations, and of those the fewest steps."""

    operations: int = Field(description="Ends put into ports and taken out of ports.")
    new_cables: int = Field(description="Cables that are put in and were not taken out before.")
    steps: list[AsBuiltStep]


class AsBuiltCounts(Model):
    in_order: int
    missing: int
    extra: int
    wrong_port: int
    swapped: int
    wrong_length: int
    unclear: int = Field(
        description="Cables at ports about which the list contradicts itself, or whose other end it does not name."
    )
    not_covered: int = Field(description="LLDP: planned cables neither of whose devices reported.")
    outside: int = Field(description="Found cables with no end at a port of the plan.")


class AsBuiltKind(Model):
    kind: Kind
    title: str
    meaning: str


class AsBuiltList(Model):
    """What was read."""

    format: Format
    cables: int = Field(description="Cables that the list names, each counted once.")
    with_length: int = Field(description="Those whose length it tells.")
    reporters: int | None = Field(description="LLDP: devices that reported; null for other lists.")
    skipped: int = Field(description="Rows and cells that are left out: no network cables, or not to be read.")
    skipped_rows: list[SkippedRow] = Field(description=f"The first {MAX_SKIPPED:,} of them, with the reasons.")


class AsBuilt(Model):
    """A list of cables from the floor beside the plan."""

    plan_hash: str
    title: str
    cables: int = Field(description="Cables of the plan.")
    list: AsBuiltList
    in_order: bool = Field(description="Whether nothing that the list covers differs from the plan.")
    counts: AsBuiltCounts
    kinds: list[AsBuiltKind] = Field(description="What each kind is called and means, in the order of summaries.")
    differences: list[AsBuiltDifference] = Field(description="All cables that are not in order.")
    contradictions: list[str] = Field(description="Where the list says two things about a port or a cable.")
    remarks: list[str]
    work: AsBuiltOrder
