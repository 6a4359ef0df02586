"""The switching chip of one server of a live run: its tables, registers and packets, through the
paper's calls.

Inside: the same requests as programs make at the server's own socket
(`cubeyard.chip.serverswitch`), sent through the fabric. `calls.py` makes them, `endpoints.py`
offers them over REST, `cli/chip_live.py` on the command line. For a chip in the kernel, only
registers are available, which the fabric reads (`registers.py`).

Not here: whole programs for all servers (`live/programs.py`), and the permissions of requests,
which the chip checks.
"""
