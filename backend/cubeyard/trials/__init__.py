"""Trials of services in virtual time over the API: what one would do on every server of a torus,
before it runs on packets.

In: the request and its answer (`schemas.py`), what is refused before a trial begins and how far one
is (`service.py`), and the stream (`endpoints.py`). Nothing of a trial is stored.

Not in: the trial itself, which is the engine's (`emulator/crates/sandbox/src/trial.rs`); the
command line has it as `cubeyard service test`.
"""
