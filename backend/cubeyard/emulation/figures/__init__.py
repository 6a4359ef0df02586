"""Published figures measured with real packets on this machine.

In: `catalog.py`, the list of them; one file for each figure; `lab.py`, which runs its sessions one
after the other; `testbed.py` and `rows.py`, what several figures share.

Not in: figures that the flow engine computes (the engine's `sim/figures`).
`cubeyard/figures/catalog.py` joins both.

A figure may name a family and a protocol, which no other folder of the emulation does.
"""
