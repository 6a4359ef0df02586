"""The switching chip of one server of a run under way: its tables, registers and packets, by the
paper's calls.

In: the requests that programs on the server's own socket make (`cubeyard.chip.serverswitch`),
carried to it by the fabric; `calls.py` makes them, `endpoints.py` takes them over REST,
`cli/chip_live.py` on the command line. A chip in the kernel has only its registers here, which the
fabric reads (`registers.py`).

Not in: whole programs for all servers (`live/programs.py`), and what a request may do: the chip
decides.
"""
