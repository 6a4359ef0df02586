"""NAME: a service of a CamCube. Every server of the torus runs an instance of it.

It carries a greeting to the server that answers for a key: change it into what you want.
Try: cubeyard service test NAME.py
"""

from cubeyard_service import Key, Packet, Service

# A packet: the key it is for, the coordinate it comes from, two bytes of nothing, and the text.
TEXT = 8


class Greeting(Service):
    def message(self, message: bytes) -> None:
        """A message from people or programs outside: cubeyard service send RUN SERVICE '2,1,0
        hello'"""
        where, _, text = message.partition(b" ")
        try:
            x, y, z = (int(number) for number in where.split(b","))
            head = bytes((x, y, z, *self.server.here, 0, 0))
        except ValueError:
            self.server.answer("error: say X,Y,Z and a text")
            return
        self.server.route(head + text[: 1024 - TEXT], (x, y, z))

    def F(self, at: Key, packet: Packet) -> list[Key]:
        """The next key coordinates; the packet goes to one of them. None: it is delivered here."""
        if len(packet.payload) < TEXT:
            return []
        x, y, z = packet.payload[:3]
        return [(x, y, z)] if (x, y, z) != at else []

    def classify(self, packet: Packet) -> int:
        """The queue of a packet, 0 to 15."""
        return 0

    def deliver(self, at: Key, packet: Packet) -> None:
        """A packet is at its end."""
        self.server.count(0)
        if len(packet.payload) >= TEXT:
            self.server.answer(packet.payload[TEXT:])
