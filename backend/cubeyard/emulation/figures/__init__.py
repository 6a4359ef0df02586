"""Published figures measured with real packets on this machine.

Inside: `catalog.py`, the list of them; one file for each figure; `lab.py`, which runs its sessions
one after the other; `testbed.py` and `rows.py`, what several figures share.

Not here: figures that the flow engine computes (the engine's `sim/figures`).
`cubeyard/figures/catalog.py` joins both.

Only in this folder of the emulation may code name a family or a protocol.
"""
