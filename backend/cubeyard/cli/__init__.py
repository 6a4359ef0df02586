"""`cubeyard`, the command line.

In: `command.py`, the command and its subcommands; one file for each group of them: `plan.py`,
`predict.py`, `figures.py`, `emulate.py`, `scenario.py`, `service.py`, `server.py`, `admin.py`;
`common.py`, `faults.py`, `workload.py`, `modules.py` and `place.py`, what they share;
`service_templates/`, what a service of one's own begins with, and its tutorial.

Not in: any work. A command reads its options, calls the same packages as the API, and prints.

Planning needs no database: the builtin price books come with the engine. Exit codes: 0 done, 1 an
error on this machine or a hypothesis that is not met, 2 a request that is not possible (findings on
standard error), 3 inconclusive and 4 not tested (a run with real packets or a scenario), 130
interrupted.
"""

from __future__ import annotations

import os


def main() -> None:
    """Run the command line. Exits with the command's code."""
    # To look for plugins, pydantic would read what every installed package describes.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from cubeyard.cli.command import run

    run()
