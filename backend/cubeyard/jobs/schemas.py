"""Requests and responses of exports and jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from cubeyard.kit.models import Model
from cubeyard.plans.schemas import Name, Spec

JobState = Literal["queued", "running", "done", "failed", "cancelled"]


class Format(Model):
    name: str = Field(examples=["xlsx"])
    title: str
    description: str
    media_type: str
    extension: str
    group: str = Field(description="The heading under which menus list it.", examples=["Cabling and power"])
    checked: str = Field(
        description="What the file was checked with, where that is not the program that it is for; else empty."
    )
    cables_at_once: int = Field(
        description="The largest plan, in cables, that is written while it is downloaded. Larger ones are answered with a job."
    )
    options: list[str] = Field(description="What may be chosen for it: names of the export's query parameters.")


class FormatList(Model):
    items: list[Format]


class ExportRequest(Model):
    model_config = ConfigDict(extra="forbid")

    spec: Spec
    name: Name | None = None


class Job(Model):
    id: str = Field(examples=["0a1b2c3d4e5f6g"])
    plan_id: str
    revision: int
    format: str
    options: dict[str, str | int | bool] = Field(description="What was chosen for it, without defaults.")
    state: JobState
    progress: float = Field(ge=0, le=1)
    doing: str = Field(description="What the worker is at, in a few words.")
    attempts: int = Field(description="How often a worker has begun it.")
    error: str | None
    filename: str
    size_bytes: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result_url: str | None = Field(description="Where to fetch the file once `state` is `done`.")


class JobList(Model):
    items: list[Job]
