"""The plan as NetBox 4 bulk imports: one CSV per model, numbered in the order in which to import
them. [FORMATS]

Inside: `records.py`, the rows of each model; `ports.py`, the ports of each device; `power.py`,
PDUs, feeds and cords; `archive.py`, the zip of all files; `changes.py`, a zip of changes for a
NetBox that has some of the objects; `sync/`, which creates the same objects over NetBox's REST API.

Names and labels are those of the plan.
"""

from cubeyard.exports.netbox.archive import netbox_archive

__all__ = ["netbox_archive"]
