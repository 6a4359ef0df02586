"""Programs of ServerSwitch's switching chip: checked, and stepped through by one packet. No run, nothing stored.

In: a program as text or JSON and a packet in hexadecimal digits, and the steps that come out.

Not in: the chip itself and its language (the engine has both), and runs with chips.
"""
