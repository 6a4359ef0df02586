"""`cubeyard completion`: the script for a shell's start-up file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell that reads the script.")]) -> None:
    """Print the script that completes commands and options in a shell.

    For bash: cubeyard completion bash >> ~/.bash_completion
    """
    print(get_completion_script(prog_name="cubeyard", complete_var="_CUBEYARD_COMPLETE", shell=shell.value))
