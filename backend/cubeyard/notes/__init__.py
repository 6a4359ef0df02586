"""Notes that people pin to a place of a plan or to a moment of a run. [ours]

A note belongs to the revision of a saved plan that it was written at, and has an anchor: a rack, a
device, a cable, or a second of a run's replay. Later revisions show it too. A cable is known by its
two ends, because its number may be another cable's in the next revision; where the anchor is gone,
the note stays and says so. A note at a moment belongs to the saved plan that the run was made of,
or, if that was never saved, to the run.

Not in: notes of the crew on cables that could not be cabled, which are marks (`plans/work`); the
spec, which notes are no part of: writing one changes neither a plan's hash nor its revision.
"""
