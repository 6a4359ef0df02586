/* A hostile program in a container beside a server's chip, for test_hostile_container.py: it tries what it must not be able to do, and says
 * on each line what came of it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "serverswitch.h"

enum { CROWD = 40, PACKET_ROOM = 9300, FLOOD_SECS = 4 };

static int connected(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(to.sun_path, path, sizeof(to.sun_path) - 1);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0) return fd;
    close(fd);
    return -1;
}

/* A message as it is given, however wrong: what comes back is a refusal (129), or nothing, as whoever listens hangs up. */
static int answer_to(uint32_t length, unsigned char kind, const void *body, size_t bytes)
{
    unsigned char sent[16] = {length, length >> 8, length >> 16, length >> 24, kind, 7, 7, 7, 7}, back[9];
    int fd = connected(SERVERSWITCH_SOCKET), got = 0;
    struct pollfd one = {fd, POLLIN, 0};
    memcpy(sent + 9, body, bytes);
    /* At once: it may hang up as soon as it has read the length. */
    if (fd < 0 || send(fd, sent, 9 + bytes, MSG_NOSIGNAL) < 0) return -2;
    while (got < (int)sizeof(back) && poll(&one, 1, 3000) > 0) {
        ssize_t more = read(fd, back + got, sizeof(back) - got);
        if (more <= 0) break;
        got += more;
    }
    close(fd);
    return got == (int)sizeof(back) ? back[4] : -1;
}

static void look_around(void)
{
    char line[256];
    DIR *folder = opendir("/run/cubeyard");
    FILE *interfaces = fopen("/proc/net/dev", "r");
    int count = 0;
    for (struct dirent *one; folder && (one = readdir(folder));)
        if (one->d_name[0] != '.') printf("file %s\n", one->d_name);
    while (interfaces && fgets(line, sizeof(line), interfaces)) count += strchr(line, ':') && !strstr(line, "lo:");
    printf("interfaces %d\n", count);
    printf("fabric %d\n", connected("/run/cubeyard/fabric.sock"));
    printf("packet-socket %d\n", socket(AF_PACKET, SOCK_RAW, 0) < 0 ? errno : 0);
}

static void tell(ServerSwitch *chip, const char *what, int done)
{
    printf("%s %d %s\n", what, done, done < 0 ? ServerSwitchError(chip) : "");
}

static void overstep(ServerSwitch *chip)
{
    static unsigned char packet[PACKET_ROOM];
    ACTION drop = {.act = DISCARD};
    tell(chip, "beyond-128", SetUDLK(chip, 1, "(B126-129)"));
    tell(chip, "past-the-table", SetLookupTable(chip, TCAM, 2048, 2, "000000000000000000", "000000000000000000", &drop));
    tell(chip, "anothers-port", SendPacket(chip, packet, 60, 3));
    tell(chip, "too-long", SendPacket(chip, packet, sizeof(packet), 0));
    tell(chip, "too-short", SendPacket(chip, packet, 5, 0));
    tell(chip, "programs-entry", ClearLookupTable(chip, TCAM, 0));
    printf("answer-as-request %d %d %d\n", answer_to(5, 128, "", 0), answer_to(5, 129, "", 0), answer_to(5, 130, "", 0));
    printf("no-kind %d %d\n", answer_to(5, 0, "", 0), answer_to(5, 255, "", 0));
    printf("length-of-4-gb %d\n", answer_to(0xffffffff, 1, "x", 1));
    printf("length-of-0 %d\n", answer_to(0, 1, "x", 1));
}

/* Every packet of the server comes here: none has a byte behind its own end. */
static void read_packets(ServerSwitch *chip)
{
    static unsigned char packet[PACKET_ROOM];
    ACTION to_cpu = {.act = TO_CPU};
    int got = 0, beyond = 0, port;
    tell(chip, "take", SetLookupTable(chip, TCAM, 2000, 2, "000000000000000000", "000000000000000000", &to_cpu));
    while (got < 30) {
        int bytes = RecvPacket(chip, packet, sizeof(packet), &port, 10000);
        if (bytes <= 0) break;
        got += 1;
        beyond += bytes != 14 + (packet[16] << 8 | packet[17]);
    }
    printf("packets %d beyond %d\n", got, beyond);
}

/* Requests as fast as they are taken, from more connections than there may be, whose answers and packets nobody reads. */
static void flood(ServerSwitch *chip)
{
    static unsigned char request[4 + 5 + 1 + 60] = {66, 0, 0, 0, 4}, junk[32 * 1024];
    int crowd[CROWD];
    time_t until = time(NULL) + FLOOD_SECS;
    unsigned long bytes = 0;
    memset(junk, 0xff, sizeof(junk));
    request[9] = 4;
    (void)chip;
    for (int i = 0; i < CROWD; i++) {
        unsigned char listen[10] = {6, 0, 0, 0, 5, 0, 0, 0, 0, 1};
        crowd[i] = connected(SERVERSWITCH_SOCKET);
        if (crowd[i] < 0) continue;
        fcntl(crowd[i], F_SETFL, O_NONBLOCK);
        if (write(crowd[i], listen, sizeof(listen)) < 0) continue;
    }
    puts("flooding");
    fflush(stdout);
    while (time(NULL) < until) {
        for (int i = 0; i < CROWD; i++) {
            ssize_t sent = i % 4 == 3 ? send(crowd[i], junk, sizeof(junk), MSG_NOSIGNAL)
                                      : send(crowd[i], request, sizeof(request), MSG_NOSIGNAL);
            bytes += sent > 0 ? (unsigned long)sent : 0;
        }
        usleep(200);
    }
    printf("flooded %lu\n", bytes);
}

int main(void)
{
    ServerSwitch *chip = OpenServerSwitch(SERVERSWITCH_SOCKET);
    if (!chip) return 1;
    look_around();
    overstep(chip);
    read_packets(chip);
    flood(chip);
    return 0;
}
