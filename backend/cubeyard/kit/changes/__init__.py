"""Who changed what and when: one row for every change that a person made to something that is kept. [ours]

In: the append-only table, `ChangeLog.record`, which services call in the transaction of the change, and the list over REST. A
change that is rolled back leaves no row, and no committed change is without one.

Not in: what the program does by itself (a run ends, old runs are deleted, builtin price books arrive), what is computed and not
kept, and secrets or whole documents: a row names the thing and says in a few words what became of it.
"""
