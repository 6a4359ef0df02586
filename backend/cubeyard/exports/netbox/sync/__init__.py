"""A plan made in a NetBox over its REST API: what is missing is created, what differs is changed,
what exists is skipped.

In: `client.py`, calls in bulk; `models.py`, what to make of each model and how an object is
recognised; `reconcile.py`, what the plan wants of each; `writer.py`, the comparison of one model
and the calls that follow from it; `pace.py`, how many objects go into a call.

Objects are recognised by their names within the plan's site, never by remembered ids, so that a
sync can be repeated, goes on where an interrupted one stopped, and touches nothing of another site.
Manufacturers, roles, device types and rack types are shared with everybody: they are used as they
are, or created, and never changed.
"""

from cubeyard.exports.netbox.sync.client import NetboxBusyError, NetboxClient, NetboxError
from cubeyard.exports.netbox.sync.reconcile import sync
from cubeyard.exports.netbox.sync.writer import ModelChange

__all__ = ["ModelChange", "NetboxBusyError", "NetboxClient", "NetboxError", "sync"]
