"""The payloads of a run's frames, each defined once: OpenAPI and the page's types are generated
from here.

Inside: one file for each part of the stream; `catalog.py`, the payload of each kind of frame.

Not here: writing, storing and streaming frames (`runs/`), and computing their content
(`emulation/measure`, the engine).

A frame is a JSON object. Optional fields are absent, not null, unless null has its own meaning.
Kinds, reasons and other names are kebab-case, fields snake_case; a field's unit is in its name.
"""
