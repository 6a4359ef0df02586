"""The change log: one row (who, what, when) for each change that a person made to stored data.
[ours]

In: the append-only table, `ChangeLog.record`, which services call in the transaction of the change,
and the list over REST. A change that is rolled back leaves no row; each committed one has a row.

Not in: actions of the program itself (a run ends, old runs are deleted, builtin price books are
added), results that are not stored, secrets, and whole documents: a row has the object's name and a
short description of the change.
"""
