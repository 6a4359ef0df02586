"""Sums of the fabric's ticks, and their form in frames.

Inside: `tick.py`, a frame of the fabric in arrays; `recorder.py`, sums and frames of the whole
session; `sums.py` and `window.py`, means over a period and over the last second; `columns.py`,
numbers small enough for a frame; `seconds.py`, ten ticks as one frame; `events.py` and
`fair_queue.py`, reports of servers, taken from each server in turn.

Not here: verdicts on numbers (`judge/`), and the flows (`setup/flows.py`).

Bytes are sums over a tick, rates are bits per second, times are seconds of the session's clock.
"""
