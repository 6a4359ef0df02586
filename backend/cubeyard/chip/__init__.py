"""Programs of ServerSwitch's switching chip: checked, and stepped through by one packet. No run,
nothing stored.

In: a program as text or JSON (at most 256 KiB) and a packet in hexadecimal digits; out: what is in
the program, or the steps of the packet through the chip's pipeline, with the entries that matched
and the bytes that changed. A mistake in a program is a finding with its line and column.

Also in: the paper's calls in Python (`serverswitch.py`, to a server of a run; `model.py`, to a chip
of one's own), and the in-network cache as a program on them (`cache.py`).

Not in: the chip itself and its language (the engine has both), and runs with chips.
"""
