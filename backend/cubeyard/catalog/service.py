"""The catalog's rules: versions are immutable, numbered one after the other, and builtin books
arrive by themselves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import structlog
from sqlalchemy.orm import Session

from cubeyard.catalog import schemas
from cubeyard.catalog.currency import converted
from cubeyard.catalog.models import BookRow, VersionRow
from cubeyard.catalog.quotes import Origin, quoted_parts
from cubeyard.catalog.repository import CatalogRepository
from cubeyard.engine import Engine, Json, content_hash
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.errors import FieldError, ProblemError, field_error, not_found
from cubeyard.reading.problems import TwoReadingsError, problem
from cubeyard.reading.report import MAX_SKIPPED, SkippedRow
from cubeyard.reading.tables import Table

log = structlog.get_logger(__name__)

MAX_SHOWN_PROBLEMS = 50


class CatalogService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._engine = engine
        self._repository = CatalogRepository(session)
        self._log = ChangeLog(session)

    def seed(self, books: list[Json]) -> int:
        """Bring the program's own books in; a book that changed since becomes a new version.
        Returns how many were written."""
        self._repository.lock_for_seeding()
        written = 0
        for content in books:
            name = content["book"]
            builtin_hash = content_hash(content)
            if self._repository.book(name) is None:
                self._repository.add_book(BookRow(book=name, title=content["title"], currency=content["currency"]))
            newest = self._repository.latest_builtin(name)
            if newest is not None and newest.builtin_hash == builtin_hash:
                continue
            latest = self._repository.latest(name)
            number = max(int(content["version"]), latest.version + 1 if latest else 1)
            self._write(
                {**content, "version": number}, builtin=True, builtin_hash=builtin_hash, note="Came with the program."
            )
            log.info("catalog_seeded", book=name, version=number)
            written += 1
        return written

    def pin(self, book: str, version: int | None = None) -> VersionRow:
        """The version a plan is to use: the one asked for, or the latest."""
        row = self._repository.version(book, version) if version is not None else self._repository.latest(book)
        if row is None:
            known = ", ".join(item.book for item in self._repository.books())
            shown = book if version is None else f"{book} version {version}"
            raise field_error(
                "body.spec.catalog",
                shown,
                f"There is no price book {shown}.",
                limit=f"one of {known}",
                hint="See GET /api/v1/catalog/books.",
            )
        return row

    def books(self) -> schemas.BookList:
        versions: dict[str, list[schemas.VersionItem]] = {}
        for row, parts in self._repository.versions():
            versions.setdefault(row.book, []).append(_version_item(row, parts))
        return schemas.BookList(
            items=[_book(row, versions[row.book]) for row in self._repository.books() if row.book in versions]
        )

    def book(self, book: str) -> schemas.Book:
        row = self._repository.book(book)
        if row is None:
            raise not_found(f"price book {book}")
        return _book(row, [_version_item(item, parts) for item, parts in self._repository.versions(book)])

    def version(self, book: str, version: int) -> schemas.BookVersion:
        row = self._repository.version(book, version)
        if row is None:
            raise not_found(f"version {version} of price book {book}")
        return _book_version(row)

    def create_version(self, book: str, change: schemas.VersionCreate) -> schemas.BookVersion:
        if self._repository.lock_book(book) is None:
            raise not_found(f"price book {book}")
        latest = self._repository.latest(book)
        assert latest is not None, "a book is made with its first version"
        base = latest if change.from_version is None else self._repository.version(book, change.from_version)
        if base is None:
            raise not_found(f"version {change.from_version} of price book {book}")
        content = {
            **base.content,
            "version": latest.version + 1,
            "parts": _changed_parts(base.content["parts"], change),
        }
        row = self._write(content, builtin=False, builtin_hash=None, note=change.note)
        detail = f"version {row.version}, of version {base.version}: {change.note}".removesuffix(": ")
        self._log.record("book", "revised", book, row.content["title"], detail)
        return _book_version(row)

    def import_prices(
        self, book: str, number: int, bill: Table, origin: Origin, *, note: str, trial: bool, jumps: bool
    ) -> schemas.PriceImport:
        """The values that a purchaser filled into a bill of materials, as the book's next version.
        [ours]

        Raises `ProblemError` 422 for lines that cannot be taken unless it is a trial.
        """
        base = self._repository.version(book, number)
        if base is None:
            raise not_found(f"version {number} of price book {book}")
        try:
            quotes = quoted_parts(base.content["parts"], str(base.content["currency"]), bill, origin)
        except TwoReadingsError as error:
            raise problem(error) from None
        if quotes.problems and not trial:
            first = [
                FieldError(field=f"body.{item.line}", message=item.message)
                for item in quotes.problems[:MAX_SHOWN_PROBLEMS]
            ]
            raise ProblemError(
                422, "invalid", f"{len(quotes.problems)} lines of the bill cannot be taken over.", errors=first
            )
        if not (trial or jumps) and (high := [item for item in quotes.changes if item.jump]):
            first = [
                FieldError(
                    field=f"body.{item.line}",
                    message=f"{item.field} of {item.sku} becomes {item.after:,} and was {item.before:,}.",
                    hint="Correct it, or send jumps=true if it is right.",
                )
                for item in high[:MAX_SHOWN_PROBLEMS]
            ]
            detail = f"{len(high)} prices become ten times as high or low, or nothing."
            raise ProblemError(422, "price-jump", detail, errors=first)
        version: int | None = None
        if quotes.changes and not trial:
            change = schemas.VersionCreate(
                from_version=number, set=[schemas.Part.model_validate(part) for part in quotes.parts], note=note
            )
            version = self.create_version(book, change).version
        return schemas.PriceImport(
            book=book,
            from_version=number,
            version=version,
            lines=len(bill.lines),
            changes=[schemas.PriceChange(**asdict(item)) for item in quotes.changes],
            problems=[schemas.PriceProblem(**asdict(item)) for item in quotes.problems],
            skipped=[SkippedRow(where=item.where, reason=item.reason) for item in quotes.skipped[:MAX_SKIPPED]],
        )

    def create_book(self, request: schemas.BookCreate) -> schemas.BookVersion:
        base = (
            self._repository.version(request.copy_of, request.version)
            if request.version
            else self._repository.latest(request.copy_of)
        )
        if base is None:
            raise not_found(
                f"price book {request.copy_of}" + (f" version {request.version}" if request.version else "")
            )
        self._repository.lock_for_seeding()
        if self._repository.book(request.book) is not None:
            raise ProblemError(
                409,
                "exists",
                f"There is a price book {request.book} already. Post a new version of it, or choose another name.",
            )
        content = _in_currency(base.content, request)
        self._repository.add_book(BookRow(book=request.book, title=request.title, currency=str(content["currency"])))
        content = {**content, "book": request.book, "title": request.title, "version": 1}
        row = self._write(content, builtin=False, builtin_hash=None, note=request.note)
        self._log.record("book", "created", request.book, request.title, f"copy of {base.book} version {base.version}")
        return _book_version(row)

    def search(
        self, *, kind: str | None, q: str, book: str | None, version: int | None, offset: int, limit: int
    ) -> schemas.PartList:
        rows, total = self._repository.search_parts(
            kind=kind, words=q.split(), book=book, version=version, offset=offset, limit=limit
        )
        items = [
            schemas.PartOfBook(
                book=row.book,
                version=row.version,
                sku=row.sku,
                kind=row.kind,  # pyright: ignore[reportArgumentType] - pydantic checks it
                name=row.name,
                manufacturer=row.manufacturer,
                attributes=row.attributes,
                price_usd=row.price_usd,
                power_watts=row.power_watts,
                weight_kg=row.weight_kg,
                sources=row.sources,
            )
            for row in rows
        ]
        after = offset + len(items)
        return schemas.PartList(items=items, total=total, next=after if items and after < total else None)

    def _write(self, content: Json, *, builtin: bool, builtin_hash: str | None, note: str) -> VersionRow:
        if not builtin:
            self._engine.check_book(content)
        row = VersionRow(
            book=content["book"],
            version=content["version"],
            content_hash=content_hash(content),
            content=content,
            builtin=builtin,
            builtin_hash=builtin_hash,
            note=note,
        )
        self._repository.add_version(row, content["parts"])
        return row


def _in_currency(content: Json, request: schemas.BookCreate) -> Json:
    """The copied book in the currency that is asked for."""
    own = str(content["currency"])
    wanted = request.currency or own
    if wanted == own:
        if request.rate is not None:
            raise field_error(
                "body.rate",
                request.rate,
                f"The book {request.copy_of} is in {own} already, so nothing is converted.",
                hint="Leave the rate out, or give another currency.",
            )
        return content
    if request.rate is None:
        raise field_error(
            "body.rate",
            None,
            f"The book {request.copy_of} is in {own}: amounts are converted only at a stated rate.",
            hint=f"Give what one {own} is worth in {wanted} as `rate`.",
        )
    return converted(content, wanted, request.rate)


def _changed_parts(parts: list[Json], change: schemas.VersionCreate) -> list[Json]:
    """The parts in their old order, replaced where set, then the new ones."""
    known = {part["sku"] for part in parts}
    for index, sku in enumerate(change.remove):
        if sku not in known:
            raise field_error(f"body.remove.{index}", sku, f"The book has no part {sku}.", hint="Leave it out.")
    replaced: dict[str, Json] = {}
    for index, part in enumerate(change.set):
        if part.sku in replaced or part.sku in change.remove:
            raise field_error(
                f"body.set.{index}.sku", part.sku, f"The part {part.sku} is named twice.", hint="Name each SKU once."
            )
        replaced[part.sku] = _plain(part)
    kept = [replaced.pop(part["sku"], part) for part in parts if part["sku"] not in change.remove]
    return [*kept, *replaced.values()]


def _plain(part: schemas.Part) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude_unset=False)


def _version_item(row: VersionRow, parts: int) -> schemas.VersionItem:
    return schemas.VersionItem(
        version=row.version,
        content_hash=row.content_hash,
        created_at=row.created_at,
        builtin=row.builtin,
        note=row.note,
        parts=parts,
    )


def _book(row: BookRow, versions: list[schemas.VersionItem]) -> schemas.Book:
    return schemas.Book(
        book=row.book, title=row.title, currency=row.currency, latest_version=versions[-1].version, versions=versions
    )


def _book_version(row: VersionRow) -> schemas.BookVersion:
    return schemas.BookVersion(
        book=row.book,
        version=row.version,
        title=row.content["title"],
        currency=row.content["currency"],
        content_hash=row.content_hash,
        created_at=row.created_at,
        builtin=row.builtin,
        note=row.note,
        parts=[schemas.Part.model_validate(part) for part in row.content["parts"]],
    )
