"""Creates a plan in a NetBox over its REST API: missing objects are created, different ones
changed, equal ones skipped.

Inside: `client.py`, calls in bulk; `models.py`, the fields of each model and the keys of objects;
`reconcile.py`, the plan's objects of each model; `writer.py`, the comparison of one model and the
resulting calls; `pace.py`, the number of objects per call.

Objects are matched by their names within the plan's site, never by stored ids, so that a sync can
be repeated, resumes after an interruption, and changes nothing of another site. Manufacturers,
roles, device types and rack types are shared by all sites: existing ones are used unchanged,
missing ones are created.
"""

from cubeyard.exports.netbox.sync.client import NetboxBusyError, NetboxClient, NetboxError
from cubeyard.exports.netbox.sync.reconcile import sync
from cubeyard.exports.netbox.sync.writer import ModelChange

__all__ = ["ModelChange", "NetboxBusyError", "NetboxClient", "NetboxError", "sync"]
