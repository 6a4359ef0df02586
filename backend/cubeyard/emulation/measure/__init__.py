"""What the fabric's ticks add up to, and how frames tell it.

In: `tick.py`, a frame of the fabric in arrays; `recorder.py`, sums and frames of the whole session;
`sums.py` and `window.py`, means over a stretch and over the last second; `columns.py`, numbers
small enough for a frame; `seconds.py`, ten ticks as one frame; `events.py` and `fair_queue.py`,
what servers report, each server in its turn.

Not in: whether a number is good (`judge/`), and who sent what (`setup/flows.py`).

Bytes are sums over a tick, rates are bits per second, times are seconds of the session's clock.
"""
