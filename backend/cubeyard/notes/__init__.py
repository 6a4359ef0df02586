"""Notes that users attach to a part of a plan or to a moment of a run. [ours]

A note belongs to the revision of a saved plan for which it was written, and has an anchor: a rack,
a device, a cable, or a second of a run's replay. Later revisions show it too. A cable is identified
by its two ends, because its number can belong to another cable in the next revision; if the anchor
no longer exists, the note is kept and shows that. A note at a moment belongs to the saved plan of
the run or, if the plan was not saved, to the run.

Not here: notes of the crew on cables that could not be installed, which are marks (`plans/work`).
Notes are not part of the spec: writing a note changes neither a plan's hash nor its revision.
"""
