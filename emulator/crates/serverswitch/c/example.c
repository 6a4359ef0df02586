/* Bounces every packet to an address back: the least that a program on the chip's CPU does, and what the library is tested with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serverswitch.h"

int main(int argc, char **argv)
{
    unsigned char packet[SERVERSWITCH_PACKET_BYTES], mac[6];
    ACTION to_cpu = {.act = TO_CPU};
    int iport, bytes;
    if (argc != 4) {
        fprintf(stderr, "usage: %s SOCKET ADDRESS PACKETS\n", argv[0]);
        return 2;
    }
    ServerSwitch *chip = OpenServerSwitch(argv[1]);
    if (chip == NULL) {
        perror(argv[1]);
        return 1;
    }
    if (BeginServerSwitch(chip) != 0 || SetLookupTable(chip, EM_IPV4, 7, 0, argv[2], NULL, &to_cpu) != 0 || CommitServerSwitch(chip) != 0) {
        fprintf(stderr, "%s\n", ServerSwitchError(chip));
        CloseServerSwitch(chip);
        return 1;
    }
    for (int left = atoi(argv[3]); left > 0; left--) {
        bytes = RecvPacket(chip, packet, sizeof packet, &iport, -1);
        if (bytes < 12)
            break;
        memcpy(mac, packet, 6);
        memcpy(packet, packet + 6, 6);
        memcpy(packet + 6, mac, 6);
        if (SendPacket(chip, packet, (size_t)bytes, iport - 4) < 0)
            break;
    }
    printf("%lld\n", (long long)ReadRegister(chip, "IN_PACKETS_PORT0"));
    fprintf(stderr, "%s", ServerSwitchError(chip));
    CloseServerSwitch(chip);
    return 0;
}
