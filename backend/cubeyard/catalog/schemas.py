"""What the catalog endpoints take and give."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from cubeyard.kit.models import Model
from cubeyard.reading.report import SkippedRow

PartKind = Literal[
    "switch", "nic", "server", "cable", "transceiver", "rack", "container", "room", "tray", "shelf", "rail", "pdu", "cord",
    "tie", "label", "labour"
]  # fmt: skip
BookId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$", examples=["paper-2009"])]
Price = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class Source(Model):
    """Where a value comes from."""

    model_config = ConfigDict(extra="allow")

    source: str = Field(max_length=2000)
    date: str | None = Field(default=None, max_length=40)
    basis: Literal["published", "vendor", "assumed"]


class Part(Model):
    model_config = ConfigDict(extra="forbid")

    sku: str = Field(min_length=1, max_length=120)
    kind: PartKind
    name: str = Field(max_length=300)
    manufacturer: str = Field(default="", max_length=200)
    attributes: dict[str, Any] = Field(default_factory=dict)
    price_usd: Price | None = None
    power_watts: Price | None = None
    weight_kg: Price | None = None
    sources: dict[str, Source] = Field(default_factory=dict, description="By field name; `*` for every other field.")


class VersionItem(Model):
    version: int
    content_hash: str
    created_at: datetime
    builtin: bool = Field(description="Whether it came with the program.")
    note: str
    parts: int


class Book(Model):
    book: str
    title: str
    currency: str
    latest_version: int
    versions: list[VersionItem]


class BookList(Model):
    items: list[Book]


class BookVersion(Model):
    book: str
    version: int
    title: str
    currency: str
    content_hash: str
    created_at: datetime
    builtin: bool
    note: str
    parts: list[Part]


class PartOfBook(Part):
    book: str
    version: int


class PartList(Model):
    items: list[PartOfBook]
    total: int
    next: int | None = Field(default=None, description="The `offset` of the following page; null at the end.")


class VersionCreate(Model):
    """A new version is an existing one with some parts set and some removed."""

    model_config = ConfigDict(extra="forbid")

    from_version: int | None = Field(
        default=None, ge=1, le=2_147_483_647, description="The version to copy; the latest if left out."
    )
    set: list[Part] = Field(default_factory=list, max_length=2000, description="Parts to add, or to replace by SKU.")
    remove: list[Annotated[str, Field(max_length=120)]] = Field(default_factory=list, max_length=2000)
    note: str = Field(default="", max_length=500)


class BookCreate(Model):
    """A new book that starts as a copy of another one."""

    model_config = ConfigDict(extra="forbid")

    book: BookId
    title: str = Field(min_length=1, max_length=200)
    copy_of: BookId
    version: int | None = Field(default=None, ge=1, le=2_147_483_647)
    currency: str | None = Field(
        default=None,
        pattern="^[A-Z]{3}$",
        description="ISO 4217 code of what the new book's amounts are in; the other book's where it is not given.",
        examples=["EUR"],
    )
    rate: float | None = Field(
        default=None,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="What one unit of the other book's currency is worth in `currency`: its amounts are converted at this rate.",
        examples=[0.92],
    )
    note: str = Field(default="", max_length=500)


class PriceChange(Model):
    """One value of the book that the filled bill changes."""

    line: str = Field(description="Where in the file, like `line 12`.")
    sku: str
    name: str
    field: str = Field(description="Like `price_usd`, `length_prices_usd (3 m)` or `supplier`.")
    before: str | float | None
    after: str | float
    jump: bool = Field(description="Whether a price becomes ten times as high or low, or nothing.")


class PriceProblem(Model):
    line: str
    message: str


class PriceImport(Model):
    """What a bill of materials with filled cells changes of a price book."""

    book: str
    from_version: int
    version: int | None = Field(
        description="The version that was written; null for a trial, and where nothing changes."
    )
    lines: int = Field(description="Lines in the file.")
    changes: list[PriceChange]
    problems: list[PriceProblem] = Field(description="Only a trial has them: they have to be mended before an import.")
    skipped: list[SkippedRow] = Field(description="Filled lines and sheets of the file that are left out.")
