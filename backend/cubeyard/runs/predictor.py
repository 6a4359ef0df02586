"""The interfaces that runs need from the engine and the maker of figures."""

from __future__ import annotations

from typing import Protocol

from cubeyard.engine import Json, OnPartial, OnProgress


class FigureMaker(Protocol):
    def figure_json(
        self,
        figure_id: str,
        seeds: int | None = None,
        on_progress: OnProgress | None = None,
        on_partial: OnPartial | None = None,
        *,
        whole: bool = False,
    ) -> bytes: ...


class Predictor(FigureMaker, Protocol):
    @property
    def build_version(self) -> str: ...

    def predict_json(
        self,
        spec: Json,
        experiment: Json,
        on_progress: OnProgress | None = None,
        on_frame: OnPartial | None = None,
    ) -> bytes: ...
