"""Price books: parts with their prices and sources, in versions that never change.

In: books, copies of them, corrections as new versions, and which version a plan pins; prices that
come back in a bill of materials (`quotes/`).

Not in: what a plan costs (the engine adds up), and the builtin books themselves (they are part of
the engine and are copied from there when the server starts).
"""
