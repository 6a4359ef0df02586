"""How far the cabling of a plan's revision is: what the crew ticked off, and what it could not do.
[ours]

In: one mark a cable and revision, `done` or `exception` with a note; a cable without a mark is
open. The last write of a cable wins, and one that changes nothing keeps who made it and when, so
that a tick may be sent twice.

Not in: the order in which a crew pulls cables, which is the page's; labels and routes, which are
the plan's.
"""
