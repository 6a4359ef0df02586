"""The packet engine compared with ns-3."""
