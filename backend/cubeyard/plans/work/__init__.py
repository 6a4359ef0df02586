"""The progress of a revision's cabling: cables that the crew completed or could not complete.
[ours]

Inside: one mark per cable and revision, `done` or `exception` with a note; a cable without a mark
is open. The last write of a cable wins. A write that changes nothing keeps the author and time, so
that a client can send a mark twice.

Not here: the order of pulling cables, which the page chooses; labels and routes, which the plan
contains.
"""
