"""The plan as NetBox 4 bulk imports: one CSV per model, numbered in the order in which to import
them. [FORMATS]

In: `records.py`, the rows of each model; `ports.py`, the ports of each device; `power.py`, PDUs,
feeds and cords; `archive.py`, the zip that holds them; `changes.py`, the same for a NetBox that
holds some of them; `sync/`, the same objects made over a NetBox's REST API.

Names and labels are the plan's own.
"""

from cubeyard.exports.netbox.archive import netbox_archive

__all__ = ["netbox_archive"]
