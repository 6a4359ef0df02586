"""The payloads of a run's frames, each defined once: OpenAPI and the page's types are generated
from here.

In: one file for each part of the stream; `catalog.py`, which payload each kind of frame has.

Not in: writing, storing and streaming frames (`runs/`), and computing what they hold
(`emulation/measure`, the engine).

A frame is a JSON object. Optional fields are absent, not null, unless null means something. Kinds,
reasons and other names are kebab-case, fields snake_case; a field's unit is in its name.
"""
