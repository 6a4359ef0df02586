"""The signals that end a program after it has cleaned up: Ctrl-C, `kill`, a closed terminal,
Ctrl-\\."""

from __future__ import annotations

import signal

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def ending() -> list[signal.Signals]:
    """Those of them that this process does not ignore: `nohup` has it ignore a closed terminal, and
    that stays so."""
    return [item for item in _ENDING if signal.getsignal(item) is not signal.SIG_IGN]
