"""All published figures in one list: those that the engine computes and those measured with real
packets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypedDict

import orjson

from cubeyard.emulation.figures.catalog import FIGURES, refuse_unable
from cubeyard.engine import Engine, OnPartial, OnProgress
from cubeyard.kit.errors import ProblemError, field_error
from cubeyard.settings import Settings

if TYPE_CHECKING:
    from cubeyard.emulation.figures.lab import Lab

Basis = Literal["modelled", "measured"]


class Entry(TypedDict):
    id: str
    title: str
    source: str
    basis: Basis
    parts: int
    """The paper's data has this number of equal parts, of which one is simulated by default; 1:
    always the whole data."""


class FigureCatalog:
    """All figures. It makes a figure if the engine, or a lab for measured figures, is available."""

    def __init__(
        self, engine: Engine, settings: Settings, lab: Callable[[OnProgress | None], Lab] | None = None
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._lab = lab

    @property
    def entries(self) -> list[Entry]:
        """Sorted by paper, in the paper's order, with measured figures after computed ones of the
        same figure."""
        computed: list[Entry] = [_entry(**figure, basis="modelled") for figure in self._engine.figures]
        for figure in FIGURES:
            entry = _entry(figure.id, figure.title, figure.source, "measured", parts=1)
            paper = figure.source.split()[0]
            same = [i for i, other in enumerate(computed) if other["source"].split()[0] == paper]
            computed.insert(same[-1] + 1 if same else len(computed), entry)
        return computed

    def find(self, figure_id: str) -> Entry | None:
        return next((entry for entry in self.entries if entry["id"] == figure_id), None)

    def known(self, figure_id: str) -> Entry:
        """Raises a 404 that lists the existing figures."""
        result = self.find(figure_id)
        if result is None:
            ids = ", ".join(entry["id"] for entry in self.entries)
            raise ProblemError(404, "not-found", f"There is no figure {figure_id}. There are: {ids}.")
        return result

    def figure_json(
        self,
        figure_id: str,
        seeds: int | None = None,
        on_progress: OnProgress | None = None,
        on_partial: OnPartial | None = None,
        *,
        whole: bool = False,
    ) -> bytes:
        """Makes a figure now. Raises a 503 that names the missing parts if it cannot be measured.

        Measured figures accept no seeds, because real packets are not random.
        """
        if whole:
            refuse_whole(self.known(figure_id), "--whole")
        measured = next((figure for figure in FIGURES if figure.id == figure_id), None)
        if measured is None:
            return self._engine.figure_json(figure_id, seeds, on_progress, on_partial, whole=whole)
        refuse_unable(self._settings)
        if self._lab is None:
            raise ProblemError(503, "cannot-measure", "Figures are not measured by this process; its worker does.")
        return orjson.dumps(measured.document(self._lab(on_progress)))


def refuse_whole(one: Entry, field: str) -> None:
    """Raises a 422 that names the field if a figure has no parts."""
    if one["parts"] == 1:
        message = f"Figure {one['id']} always has all of its data."
        raise field_error(field, True, message, limit="false", hint="Leave it out.")


def _entry(id: str, title: str, source: str, basis: Basis, parts: int) -> Entry:
    return {"id": id, "title": title, "source": source, "basis": basis, "parts": parts}
