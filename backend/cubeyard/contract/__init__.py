"""Documents that cross a process, as the Rust crate `emulator/crates/contract` declares them.

Inside: the columns of a fabric's tick (`tick.py`, generated), and what a column declares
(`columns.py`).

Not here: frames of a run (`cubeyard/frames`), which the backend makes from ticks.
"""
