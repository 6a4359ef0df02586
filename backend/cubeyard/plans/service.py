"""The rules of plans: creating revisions, detecting conflicting changes, and choosing the price
book."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from sqlalchemy.orm import Session

from cubeyard.built_plan import BuiltPlan
from cubeyard.catalog.models import VersionRow
from cubeyard.catalog.quotes.changes import read_rates
from cubeyard.catalog.service import CatalogService
from cubeyard.engine import Engine, Json, content_hash
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.cursors import decode_cursor, encode_cursor
from cubeyard.kit.errors import ProblemError, field_error, not_found
from cubeyard.kit.ids import new_id
from cubeyard.kit.responses import check_match
from cubeyard.plans import metrics, over_time, schemas
from cubeyard.plans.models import PlanRow, RevisionRow
from cubeyard.plans.repository import PlanRepository
from cubeyard.plans.spec import book_of, normal_spec, on_paper
from cubeyard.webhooks.schemas import PlanAction
from cubeyard.webhooks.service import WebhookEvents


class PlanService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._repository = PlanRepository(session)
        self._catalog = CatalogService(session, engine)
        self._engine = engine
        self._log = ChangeLog(session)
        self._webhooks = WebhookEvents(session)

    def preview(self, spec: Json, catalog_version: int | str | None = None) -> BuiltPlan:
        """The plan of an unsaved spec, with the latest version of its price book unless
        `catalog_version` is given."""
        spec = normal_spec(spec)
        return self._build(spec, self._catalog.pin(book_of(spec), _number(catalog_version)))

    def create(self, request: schemas.PlanCreate) -> tuple[PlanRow, RevisionRow]:
        plan = PlanRow(id=new_id(), name=request.name, head_revision=1)
        first = self._revision(
            plan, 1, "create", normal_spec(request.spec), request.note, _number(request.catalog_version)
        )
        self._repository.add(plan, first)
        self._changed(plan, "created", first.summary["title"])
        return plan, first

    def read(self, plan_id: str, revision: int | None = None) -> tuple[PlanRow, RevisionRow]:
        plan = self._repository.plan(plan_id)
        if plan is None:
            raise not_found(f"plan {plan_id}")
        return plan, self._one_revision(plan, revision)

    def built(
        self, plan_id: str, revision: int | None = None, *, paper: str | None = None
    ) -> tuple[PlanRow, RevisionRow, BuiltPlan]:
        """A saved plan, computed with its pinned price book version, and for `paper` instead of the
        plan's paper if given."""
        plan, row, build = self.buildable(plan_id, revision, paper=paper)
        return plan, row, build()

    def buildable(
        self, plan_id: str, revision: int | None = None, *, paper: str | None = None
    ) -> tuple[PlanRow, RevisionRow, Callable[[], BuiltPlan]]:
        """Like `built`, with a function that computes the plan after the session has ended."""
        plan, row = self.read(plan_id, revision)
        version = self._catalog.pin(row.book, row.book_version)
        return plan, row, lambda: self._build(on_paper(row.spec, paper), version)

    def page(self, *, cursor: str | None, q: str, limit: int, sort: schemas.PlanOrder) -> schemas.PlanList:
        after = decode_cursor(cursor) if cursor is not None else None
        rows = self._repository.page(after=after, words=q.split(), limit=limit + 1, sort=sort)
        more = len(rows) > limit
        items = [_list_item(plan, head) for plan, head in rows[:limit]]
        last = rows[limit - 1][0] if more else None
        return schemas.PlanList(items=items, next=encode_cursor(getattr(last, sort), last.id) if last else None)

    def update(self, plan_id: str, request: schemas.PlanUpdate, if_match: str | None) -> tuple[PlanRow, RevisionRow]:
        plan = self._locked(plan_id)
        self._check_base(
            plan,
            request.base_revision,
            if_match,
            required=request.spec is not None or request.catalog_version is not None,
        )
        if request.name is not None and request.name != plan.name:
            before, plan.name = plan.name, request.name
            self._repository.touch(plan)
            self._changed(plan, "renamed", f"from {before}")
        head = self._one_revision(plan, None)
        if request.spec is not None or request.catalog_version is not None:
            spec = normal_spec(request.spec) if request.spec is not None else head.spec
            # An edit that keeps the book also keeps the pinned version: prices change only on
            # request.
            stays = request.catalog_version is None and book_of(spec) == head.book
            version = head.book_version if stays else _number(request.catalog_version)
            head_next = self._revision(plan, plan.head_revision + 1, "edit", spec, request.note, version)
            if head_next.content_hash != head.content_hash:
                self._repository.append(plan, head_next)
                head = head_next
                detail = f"revision {head.revision}: {head.summary['title']}"
                self._changed(plan, "revised", detail)
        return plan, head

    def revert(self, plan_id: str, request: schemas.RevertRequest, if_match: str | None) -> tuple[PlanRow, RevisionRow]:
        """Adds a new revision with an earlier revision's content, including its price book version,
        and moves the head to it."""
        plan = self._locked(plan_id)
        self._check_base(plan, request.base_revision, if_match, required=False)
        source = self._one_revision(plan, request.revision)
        row = RevisionRow(
            plan_id=plan.id,
            revision=plan.head_revision + 1,
            kind="revert",
            reverted_from=source.revision,
            content_hash=source.content_hash,
            spec=source.spec,
            book=source.book,
            book_version=source.book_version,
            plan_hash=source.plan_hash,
            engine_version=source.engine_version,
            summary=source.summary,
            note=f"Back to revision {source.revision}.",
        )
        self._repository.append(plan, row)
        detail = f"revision {row.revision}, back to revision {source.revision}"
        self._changed(plan, "reverted", detail)
        return plan, row

    def delete(self, plan_id: str, if_match: str | None) -> None:
        plan = self._locked(plan_id)
        self._check_base(plan, None, if_match, required=False)
        self._repository.delete(plan)
        detail = f"with its revisions up to {plan.head_revision}"
        self._changed(plan, "deleted", detail)

    def _changed(self, plan: PlanRow, action: PlanAction, detail: str) -> None:
        self._log.record("plan", action, plan.id, plan.name, detail, plan_id=plan.id)
        self._webhooks.plan_changed(plan.id, plan.name, action, plan.head_revision)

    def compare(self, request: schemas.CompareRequest) -> schemas.CompareResponse:
        if request.base >= len(request.plans):
            raise field_error(
                "body.base",
                request.base,
                "The base is not one of the plans.",
                limit=f"at most {len(request.plans) - 1}",
                hint="Count from 0.",
            )
        try:
            rates = read_rates(request.rates)
        except ValueError as error:
            raise field_error("body.rates", request.rates, str(error), hint="Write it as EUR=1.08.") from error
        described: list[schemas.ComparedPlan] = []
        built: list[BuiltPlan] = []
        for index, wanted in enumerate(request.plans):
            if (wanted.id is None) == (wanted.spec is None):
                raise field_error(
                    f"body.plans.{index}",
                    None,
                    "Give either `id` or `spec`.",
                    hint="Give exactly one of `id` and `spec`.",
                )
            revision = None
            if wanted.id is not None:
                plan, row, entry = self.built(wanted.id, wanted.revision)
                name, revision = wanted.name or plan.name, row.revision
            else:
                assert wanted.spec is not None
                entry = self.preview(wanted.spec)
                name = wanted.name or entry.summary["title"]
            built.append(entry)
            described.append(
                schemas.ComparedPlan(
                    id=wanted.id,
                    revision=revision,
                    name=name,
                    title=entry.summary["title"],
                    plan_hash=entry.plan_hash,
                    certificate_passed=entry.summary["certificate"]["passed"],
                    findings=sum(finding["severity"] != "info" for finding in entry.summary["findings"]),
                    currency=metrics.currency_of(entry.summary),
                    at_least=entry.summary["cost_usd"]["at_least"],
                )
            )
        base = built[request.base]
        lifecycles = [
            self._engine.lifecycle(item, None if index == request.base else base) for index, item in enumerate(built)
        ]
        return metrics.compare(described, built, request.base, rates, lifecycles)

    def history(self, plan_id: str) -> schemas.RevisionList:
        plan, _ = self.read(plan_id)
        items = [
            schemas.RevisionItem(
                revision=row.revision,
                kind=row.kind,  # pyright: ignore[reportArgumentType] - pydantic checks it
                reverted_from=row.reverted_from,
                created_at=row.created_at,
                plan_hash=row.plan_hash,
                content_hash=row.content_hash,
                catalog=schemas.CatalogPin(book=row.book, version=row.book_version),
                note=row.note,
                title=row.summary["title"],
            )
            for row in self._repository.revisions(plan.id)
        ]
        return schemas.RevisionList(head_revision=plan.head_revision, items=items)

    def since(self, plan_id: str, revision: int, earlier: int) -> schemas.RevisionComparison:
        """The changes of a revision since another revision. Raises a 404 for an unknown
        revision."""
        before, after = self.built(plan_id, earlier)[1:], self.built(plan_id, revision)[1:]
        order = orjson.loads(self._engine.work_order_json(before[1], after[1]))
        return over_time.compared(before, after, order)

    def _locked(self, plan_id: str) -> PlanRow:
        plan = self._repository.plan(plan_id, lock=True)
        if plan is None:
            raise not_found(f"plan {plan_id}")
        return plan

    def _one_revision(self, plan: PlanRow, revision: int | None) -> RevisionRow:
        row = self._repository.revision(plan.id, plan.head_revision if revision is None else revision)
        if row is None:
            raise not_found(f"revision {revision} of plan {plan.id}; the latest is {plan.head_revision}")
        return row

    def _check_base(self, plan: PlanRow, base_revision: int | None, if_match: str | None, *, required: bool) -> None:
        """Rejects a change that was based on a head other than the current one."""
        if if_match is not None:
            check_match(if_match, etag(plan), "plan")
        elif base_revision is None:
            if required:
                raise ProblemError(
                    428,
                    "base-needed",
                    "Give the revision that the change is based on: `base_revision`, or an If-Match header with the plan's ETag.",
                )
        elif base_revision != plan.head_revision:
            raise ProblemError(
                409,
                "changed-meanwhile",
                f"The plan is at revision {plan.head_revision}, and the change is based on {base_revision}. "
                "Read it again and repeat the change, or save it as a new plan.",
            )

    def _build(self, spec: Json, version: VersionRow) -> BuiltPlan:
        return self._engine.plan({**spec, "catalog": version.book}, version.content, version.content_hash)

    def _revision(
        self, plan: PlanRow, number: int, kind: str, spec: Json, note: str, book_version: int | None = None
    ) -> RevisionRow:
        version = self._catalog.pin(book_of(spec), book_version)
        built = self._build(spec, version)
        return RevisionRow(
            plan_id=plan.id,
            revision=number,
            kind=kind,
            reverted_from=None,
            content_hash=content_hash({"spec": spec, "book": version.book, "version": version.version}),
            spec=spec,
            book=version.book,
            book_version=version.version,
            plan_hash=built.plan_hash,
            engine_version=self._engine.version,
            summary=built.summary,
            note=note,
        )


def _number(catalog_version: int | str | None) -> int | None:
    """`"latest"` and `None` both mean the latest version."""
    return catalog_version if isinstance(catalog_version, int) else None


def etag(plan: PlanRow) -> str:
    """It differs after every change, including a change of the name."""
    return f'"{plan.id}.{plan.head_revision}.{round(plan.updated_at.timestamp() * 1e6):x}"'


def plan_fields(plan: PlanRow, row: RevisionRow) -> dict[str, Any]:
    """A plan in the form of the API. The summary is the engine's document, passed on unchanged."""
    return {
        "id": plan.id,
        "name": plan.name,
        "revision": row.revision,
        "head_revision": plan.head_revision,
        "created_at": plan.created_at,
        "updated_at": plan.updated_at,
        "plan_hash": row.plan_hash,
        "content_hash": row.content_hash,
        "catalog": {"book": row.book, "version": row.book_version},
        "note": row.note,
        "spec": row.spec,
        "summary": row.summary,
    }


def _list_item(plan: PlanRow, head: RevisionRow) -> schemas.PlanListItem:
    summary = head.summary
    return schemas.PlanListItem(
        id=plan.id,
        name=plan.name,
        revision=head.revision,
        created_at=plan.created_at,
        updated_at=plan.updated_at,
        plan_hash=head.plan_hash,
        title=summary["title"],
        counts=summary["counts"],
        cost_usd_total=summary["cost_usd"]["total"],
        currency=metrics.currency_of(summary),
        at_least=summary["cost_usd"]["at_least"],
        power_watts_total=summary["power_watts"]["total"],
    )
