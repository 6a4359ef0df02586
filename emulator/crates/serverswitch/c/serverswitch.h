/* ServerSwitch's API [serverswitch 3.3.2] for a program in a container of its own, beside a server of a run: the paper's calls over the
 * server's socket. No dependency but POSIX: compile serverswitch.c along with the program.
 *
 *     ServerSwitch *chip = OpenServerSwitch(SERVERSWITCH_SOCKET);
 *     ACTION action = {.act = REDIRECT_VIF, .vif = 3};
 *     SetUDLK(chip, 1, "(B0-5)");
 *     SetVIfTable(chip, 3, "001F29D417E8", NULL, 2);
 *     SetLookupTable(chip, TCAM, 1, 1, "000001020001", "FFFFFF000000", &action);
 *
 * Calls return 0, or -1 and leave why in ServerSwitchError(chip): a sentence with the value, the limit and the fix. One thread at a time
 * may use a chip. Against the paper's, calls have the chip as their first argument, and RecvPacket has the room of the packet. */
#ifndef CUBEYARD_SERVERSWITCH_H
#define CUBEYARD_SERVERSWITCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SERVERSWITCH_SOCKET "/run/cubeyard/chip.sock"
/* Longest packet, Ethernet header included. */
#define SERVERSWITCH_PACKET_BYTES 9216

typedef struct ServerSwitch ServerSwitch;

/* Lookup tables. */
enum { TCAM, EM_MAC, EM_IPV4, EM_MPLS, LPM_IPV4 };
/* Acts of entries. */
enum { REDIRECT_VIF, REDIRECT_PORT, DISCARD, DUPLICATE, MIRROR, TO_CPU };
/* Changes of MPLS labels. */
enum { MPLS_KEEP, MPLS_PUSH, MPLS_POP, MPLS_SWAP };

typedef struct {
    int act;        /* one of the acts */
    int vif;        /* of REDIRECT_VIF */
    int port;       /* of REDIRECT_PORT and MIRROR */
    unsigned ports; /* of DUPLICATE: a bit each */
    int has_mirror; /* whether a copy goes to port `mirror` */
    int mirror;
    int has_dscp; /* whether the DSCP is set */
    int dscp;
    int mpls;  /* a change of labels */
    int label; /* of MPLS_PUSH and MPLS_SWAP */
} ACTION;

/* Connects. NULL and errno if that fails. */
ServerSwitch *OpenServerSwitch(const char *path);
void CloseServerSwitch(ServerSwitch *chip);
/* Why the last call failed. */
const char *ServerSwitchError(const ServerSwitch *chip);

int SetUDLK(ServerSwitch *chip, int i, const char *udlk);
/* value and mask in hexadecimal digits; mask NULL for none. iudlk counts in the TCAM alone. */
int SetLookupTable(ServerSwitch *chip, int type, int i, int iudlk, const char *value, const char *mask, const ACTION *action);
/* Takes back what a call has set there. */
int ClearLookupTable(ServerSwitch *chip, int type, int i);
/* dmac or smac NULL keeps the packet's. */
int SetVIfTable(ServerSwitch *chip, int i, const char *dmac, const char *smac, int oport);
/* From Begin to Commit calls that set tables are collected, and then take effect all at once or not at all. */
int BeginServerSwitch(ServerSwitch *chip);
int CommitServerSwitch(ServerSwitch *chip);
/* Registers by name, for example "OUTPUT_QUEUE_BYTES_PORT0". ReadRegister returns -1 on failure. */
int64_t ReadRegister(ServerSwitch *chip, const char *regname);
int WriteRegister(ServerSwitch *chip, const char *regname, uint64_t value);
/* Out of an external port, or by a port from 4 to 7 into the chip. Returns 0 if it was sent, 1 if the chip has discarded it. */
int SendPacket(ServerSwitch *chip, const void *pkt, size_t bytes, int oport);
/* Waits at most timeout_ms (-1: for ever) for the next packet that an entry set by calls sends to the CPU. Returns its length, of which
 * at most `room` bytes are in pkt; 0 when none came; -1 on failure. */
int RecvPacket(ServerSwitch *chip, void *pkt, size_t room, int *iport, int timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
