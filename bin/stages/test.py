"""Every check and test, in stages: `bin/test` (the short run), `bin/test all` (the long run),
`bin/test rust page` (some stages), `bin/test all journeys` (all that a stage has), `bin/test quick`
(while writing), `bin/test list` (the table below)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import commands as run
from runner import ROOT, Result, failures, say, took
from stage import Stage, run_stages

SETUP_BUDGET_SECS, OVER = 300, 1.2  # a stage over its budget by a fifth is named


# In the short run tests marked as long are left out: pytest's mark `long`, Playwright's tag @long,
# Rust's #[ignore]. The long run, `all`, has them. Stages that need root take sudo; without either
# their tests say why they skip.
STAGES = [
    # They take the time of the processors that compilers and browsers leave.
    Stage("lint", "formats, lints, types, import directions", None, run.lint, beside=("rust", "journeys")),
    Stage("rust", "tests in Rust", 400, run.rust, ("emulator/crates/*.rs",)),
    Stage("page", "tests of the page, and its size", None, run.page, ("frontend/*",), beside=("rust",)),
    Stage("python", "tests in Python", 300, run.python, ("backend/tests/*", "emulator/crates/python/tests/*")),
    Stage("deployment", "the service in containers", None, run.deployment, ("backend/tests/deployment/*",), beside=("rust", "python")),
    Stage("journeys", "journeys through the page, in a browser", 250, run.journeys, ("e2e/*.spec.ts",)),
    Stage("emulation", "real packets (root)", 300, run.emulation, ("backend/tests/emulation/real/*", "e2e/journeys/live/*")),
    Stage("cluster", "pods on a real Kubernetes, jobs of Slurm (root)", None, run.cluster, ("backend/tests/cluster/*",), whole_run="all"),
    Stage("ns3", "the packet engine beside ns-3", None,
          partial(run.with_program, "The packet engine beside ns-3", "tests/ns3", variables=("NS3_PYTHON",)), ("backend/tests/ns3/*",), whole_run=""),
    Stage("netbox", "the sync with a real NetBox", None,
          partial(run.with_program, "The sync with a real NetBox", "tests/exports/test_netbox_real.py", variables=("NETBOX_URL", "NETBOX_TOKEN")),
          ("backend/tests/exports/test_netbox_real.py",), whole_run=""),
    Stage("containerlab", "labs in the real containerlab (root)", None,
          partial(run.with_program, "Labs in the real containerlab", "tests/exports/test_containerlab_real.py", variables=("CONTAINERLAB",), root=True),
          ("backend/tests/exports/test_containerlab_real.py",), whole_run=""),
]  # fmt: skip
QUICK = ("lint", "rust", "page", "python")
TESTS = ("*/test_*.py", "*.spec.ts", "*.test.ts", "*.test.tsx", "emulator/crates/*/tests/*.rs")


def stage_of(path: str) -> Stage | None:
    fitting = [(len(pattern), stage) for stage in STAGES for pattern in stage.files if fnmatch(path, pattern)]
    return max(fitting, key=lambda item: item[0])[1] if fitting else None


def without_a_stage() -> list[str]:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [path for path in tracked if any(fnmatch(path, kind) for kind in TESTS) and stage_of(path) is None]


def chosen(words: list[str]) -> tuple[list[Stage], str]:
    """The stages that are asked for, in the table's order, and which run of them: short, all or
    quick."""
    which = next((word for word in ("all", "quick") if word in words), "short")
    names = {word for word in words if word not in ("all", "quick")}
    if unknown := sorted(names - {stage.name for stage in STAGES}):
        sys.exit(f"error: there are no tests called {unknown[0]}; `bin/test list` tells what there is")
    if not names:
        names = set(QUICK) if which == "quick" else {item.name for item in STAGES if item.whole_run in ("short", which)}
    return [stage for stage in STAGES if stage.name in names], which


def report(
    stages: dict[str, tuple[float, list[Result]]], rows: list[tuple[str, float, int | None]], *, budgets: bool
) -> int:
    results = [item for _, some in stages.values() for item in some]
    failed = failures(results)
    print(f"\nWhat each command took:\n{took(results)}\n\nWhat each stage took, and its budget:", file=sys.stderr)
    for name, secs, budget in [*rows, ("together", sum(row[1] for row in rows), sum(row[2] or 0 for row in rows))]:
        over = ", OVER ITS BUDGET" if budgets and budget and secs > OVER * budget else ""
        print(f"  {secs:5.0f} s{f' of {budget} s' if budget and budgets else ''}  {name}{over}", file=sys.stderr)
    if flaky := [name for result in results for name in result.flaky]:
        say(f"Passed only when tried again, each needs its line in docs/contributing/flaky.md: {', '.join(flaky)}")
    if failed:
        print(f"error: failed: {'; '.join(failed)}", file=sys.stderr)
        return 1
    say("Everything passed")
    return 0


def main(words: list[str]) -> int:
    if words == ["list"]:
        print(
            "\n".join(
                f"{item.name:13}{item.budget_secs or '':>4}  {item.whole_run or 'by name':8}{item.title}"
                for item in STAGES
            )
        )
        return 0
    if missing := without_a_stage():
        sys.exit(f"error: no stage of bin/stages/test.py runs {', '.join(missing)}")
    stages, which = chosen(words)
    # The tests bring their own database and settings; those of the user must not reach them.
    for name in [
        item
        for item in os.environ
        if item in ("DATABASE_URL", "DATABASE_PASSWORD", "PGPASSWORD") or item.startswith("CUBEYARD_")
    ]:
        if name not in ("CUBEYARD_CHROMIUM", "CUBEYARD_TEST_APART"):
            del os.environ[name]
    names = {stage.name for stage in stages}
    with tempfile.TemporaryDirectory(prefix="cubeyard-stages-") as folder:
        request = run.Asked(which, names, Path(folder))
        done = run_stages(stages, request)
    budgets = {stage.name: stage.budget_secs for stage in STAGES}
    rows = [(name, secs, budgets[name]) for name, (secs, _) in done.items()]
    if not words:
        rows.insert(0, ("set-up", float((ROOT / ".setup/took").read_text()), SETUP_BUDGET_SECS))
    return report(done, rows, budgets=which == "short")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
