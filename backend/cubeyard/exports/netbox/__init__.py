"""The plan as NetBox 4 bulk imports: one CSV a model, numbered in the order to import them. [FORMATS]"""

from cubeyard.exports.netbox.archive import netbox_archive

__all__ = ["netbox_archive"]
