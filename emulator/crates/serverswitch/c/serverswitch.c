/* The wire is described in emulator/crates/chip/src/api.rs. */
#define _POSIX_C_SOURCE 200809L
#include "serverswitch.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CALLS = 1, READ = 2, WRITE = 3, SEND = 4, LISTEN = 5, DONE = 128, REFUSED = 129, PACKET = 130 };
enum { HEAD_BYTES = 5, MAX_MESSAGE_BYTES = 64 * 1024, PACKET_HEAD = 9 };
enum { NO_TIME = -2 };

/* A packet that came while an answer was waited for. */
typedef struct Kept {
    struct Kept *next;
    size_t bytes;
    unsigned char port;
    unsigned char packet[];
} Kept;

struct ServerSwitch {
    int fd;
    uint32_t tag;
    int listens;
    int collects;
    size_t collected;
    Kept *first, *last;
    int kept;
    char error[512];
    char calls[MAX_MESSAGE_BYTES];
    unsigned char message[MAX_MESSAGE_BYTES + 1];
};

/* Packets kept at most; more are lost. */
static const int MOST_KEPT = 1024;

static int fail(ServerSwitch *chip, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(chip->error, sizeof chip->error, format, arguments);
    va_end(arguments);
    return -1;
}

ServerSwitch *OpenServerSwitch(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    strcpy(address.sun_path, path);
    ServerSwitch *chip = calloc(1, sizeof *chip);
    if (chip == NULL)
        return NULL;
    chip->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (chip->fd < 0 || connect(chip->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int why = errno;
        CloseServerSwitch(chip);
        errno = why;
        return NULL;
    }
    return chip;
}

void CloseServerSwitch(ServerSwitch *chip)
{
    if (chip == NULL)
        return;
    while (chip->first != NULL) {
        Kept *next = chip->first->next;
        free(chip->first);
        chip->first = next;
    }
    if (chip->fd >= 0)
        close(chip->fd);
    free(chip);
}

const char *ServerSwitchError(const ServerSwitch *chip)
{
    return chip->error;
}

static void put32(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static int send_all(ServerSwitch *chip, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t sent = send(chip->fd, at, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return fail(chip, "the chip's socket: %s", strerror(errno));
        at += sent;
        count -= (size_t)sent;
    }
    return 0;
}

static int recv_all(ServerSwitch *chip, void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t got = recv(chip->fd, at, count, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return fail(chip, "the chip's socket: %s", got == 0 ? "the server has gone" : strerror(errno));
        at += got;
        count -= (size_t)got;
    }
    return 0;
}

/* The next message into chip->message: the length of its body, -1, or NO_TIME. */
static int receive(ServerSwitch *chip, int timeout_ms)
{
    unsigned char length[4];
    struct pollfd waits = {.fd = chip->fd, .events = POLLIN};
    int ready = poll(&waits, 1, timeout_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR))
        return NO_TIME;
    if (ready < 0)
        return fail(chip, "the chip's socket: %s", strerror(errno));
    if (recv_all(chip, length, sizeof length) != 0)
        return -1;
    uint32_t count = get32(length);
    if (count < HEAD_BYTES || count > MAX_MESSAGE_BYTES)
        return fail(chip, "the chip's answer has %u bytes, but must have %d to %d", count, HEAD_BYTES, MAX_MESSAGE_BYTES);
    if (recv_all(chip, chip->message, count) != 0)
        return -1;
    chip->message[count] = 0;
    return (int)count - HEAD_BYTES;
}

static int keep(ServerSwitch *chip, int body)
{
    if (body < PACKET_HEAD)
        return fail(chip, "the chip sent a packet without a port");
    if (chip->kept == MOST_KEPT)
        return 0;
    size_t bytes = (size_t)(body - PACKET_HEAD);
    Kept *kept = malloc(sizeof *kept + bytes);
    if (kept == NULL)
        return fail(chip, "no memory for a packet");
    kept->next = NULL;
    kept->bytes = bytes;
    kept->port = chip->message[HEAD_BYTES + 8];
    memcpy(kept->packet, chip->message + HEAD_BYTES + PACKET_HEAD, bytes);
    if (chip->last != NULL)
        chip->last->next = kept;
    else
        chip->first = kept;
    chip->last = kept;
    chip->kept++;
    return 0;
}

/* Sends a request of up to two parts and waits for its answer, which is then in chip->message: the length of its body, or -1. */
static int ask(ServerSwitch *chip, int kind, const void *first, size_t first_bytes, const void *second, size_t second_bytes)
{
    unsigned char head[4 + HEAD_BYTES];
    size_t length = HEAD_BYTES + first_bytes + second_bytes;
    if (length > MAX_MESSAGE_BYTES)
        return fail(chip, "The request has %zu bytes, but must have at most %d. Send less at once.", length, MAX_MESSAGE_BYTES);
    put32(head, (uint32_t)length);
    head[4] = (unsigned char)kind;
    put32(head + 5, ++chip->tag);
    if (send_all(chip, head, sizeof head) != 0 || send_all(chip, first, first_bytes) != 0 || send_all(chip, second, second_bytes) != 0)
        return -1;
    for (;;) {
        int body = receive(chip, -1);
        if (body == NO_TIME)
            continue;
        if (body < 0)
            return -1;
        if (chip->message[0] == PACKET) {
            if (keep(chip, body) != 0)
                return -1;
        } else if (get32(chip->message + 1) == chip->tag) {
            if (chip->message[0] == DONE)
                return body;
            const char *said = (const char *)chip->message + HEAD_BYTES;
            const char *sentence = strchr(said, '\n');
            return fail(chip, "%s", sentence != NULL ? sentence + 1 : said);
        }
    }
}

static int call(ServerSwitch *chip, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text)
        return fail(chip, "The call is %d characters long, but must be at most %zu. Shorten the value or the fields.", length, sizeof text - 1);
    if (!chip->collects)
        return ask(chip, CALLS, text, (size_t)length, "", 0) < 0 ? -1 : 0;
    if (chip->collected + (size_t)length > sizeof chip->calls - HEAD_BYTES)
        return fail(chip, "The calls to be committed are over %d bytes. Commit them in parts.", MAX_MESSAGE_BYTES);
    memcpy(chip->calls + chip->collected, text, (size_t)length);
    chip->collected += (size_t)length;
    return 0;
}

static const char *TABLES[] = {"TCAM", "EM_MAC", "EM_IPV4", "EM_MPLS", "LPM_IPV4"};
static const char *ACTS[] = {"REDIRECT_VIF", "REDIRECT_PORT", "DISCARD", "DUPLICATE", "MIRROR", "TO_CPU"};
static const char *LABELS[] = {NULL, "PUSH", "POP", "SWAP"};

static int named(ServerSwitch *chip, const char *field, int value, int count)
{
    if (value >= 0 && value < count)
        return 0;
    return fail(chip, "%s is %d, but must be 0 to %d. Take one of the names in serverswitch.h.", field, value, count - 1);
}

static void write_action(char *text, size_t room, const ACTION *action)
{
    int at = snprintf(text, room, "act=%s", ACTS[action->act]);
    if (action->act == REDIRECT_VIF)
        at += snprintf(text + at, room - (size_t)at, ", vif=%d", action->vif);
    if (action->act == REDIRECT_PORT || action->act == MIRROR)
        at += snprintf(text + at, room - (size_t)at, ", port=%d", action->port);
    if (action->act == DUPLICATE) {
        const char *before = ", ports=(";
        for (int port = 0; port < 32; port++)
            if (action->ports >> port & 1) {
                at += snprintf(text + at, room - (size_t)at, "%s%d", before, port);
                before = ", ";
            }
        if (action->ports != 0)
            at += snprintf(text + at, room - (size_t)at, ")");
    }
    if (action->has_mirror)
        at += snprintf(text + at, room - (size_t)at, ", mirror=%d", action->mirror);
    if (action->has_dscp)
        at += snprintf(text + at, room - (size_t)at, ", dscp=%d", action->dscp);
    if (action->mpls != MPLS_KEEP)
        at += snprintf(text + at, room - (size_t)at, ", mpls=%s", LABELS[action->mpls]);
    if (action->mpls == MPLS_PUSH || action->mpls == MPLS_SWAP)
        snprintf(text + at, room - (size_t)at, ", label=%d", action->label);
}

int SetUDLK(ServerSwitch *chip, int i, const char *udlk)
{
    return call(chip, "SetUDLK(%d, %s);\n", i, udlk);
}

int SetLookupTable(ServerSwitch *chip, int type, int i, int iudlk, const char *value, const char *mask, const ACTION *action)
{
    char text[512];
    if (named(chip, "type", type, 5) != 0 || named(chip, "act", action->act, 6) != 0 || named(chip, "mpls", action->mpls, 4) != 0)
        return -1;
    write_action(text, sizeof text, action);
    const char *quote = mask != NULL ? "\"" : "";
    return call(chip, "SetLookupTable(%s, %d, %d, \"%s\", %s%s%s, {%s});\n", TABLES[type], i, iudlk, value, quote, mask != NULL ? mask : "NULL", quote,
                text);
}

int ClearLookupTable(ServerSwitch *chip, int type, int i)
{
    if (named(chip, "type", type, 5) != 0)
        return -1;
    return call(chip, "ClearLookupTable(%s, %d);\n", TABLES[type], i);
}

int SetVIfTable(ServerSwitch *chip, int i, const char *dmac, const char *smac, int oport)
{
    const char *d = dmac != NULL ? "\"" : "", *s = smac != NULL ? "\"" : "";
    return call(chip, "SetVIfTable(%d, %s%s%s, %s%s%s, %d);\n", i, d, dmac != NULL ? dmac : "NULL", d, s, smac != NULL ? smac : "NULL", s, oport);
}

int BeginServerSwitch(ServerSwitch *chip)
{
    chip->collects = 1;
    return 0;
}

int CommitServerSwitch(ServerSwitch *chip)
{
    size_t bytes = chip->collected;
    chip->collects = 0;
    chip->collected = 0;
    return bytes == 0 || ask(chip, CALLS, chip->calls, bytes, "", 0) >= 0 ? 0 : -1;
}

int64_t ReadRegister(ServerSwitch *chip, const char *regname)
{
    int body = ask(chip, READ, regname, strlen(regname), "", 0);
    if (body < 0)
        return -1;
    if (body != 8)
        return fail(chip, "the chip's answer is no register");
    return (int64_t)((uint64_t)get32(chip->message + HEAD_BYTES) | (uint64_t)get32(chip->message + HEAD_BYTES + 4) << 32);
}

int WriteRegister(ServerSwitch *chip, const char *regname, uint64_t value)
{
    unsigned char bytes[8];
    put32(bytes, (uint32_t)value);
    put32(bytes + 4, (uint32_t)(value >> 32));
    return ask(chip, WRITE, bytes, sizeof bytes, regname, strlen(regname)) < 0 ? -1 : 0;
}

int SendPacket(ServerSwitch *chip, const void *pkt, size_t bytes, int oport)
{
    unsigned char port = oport < 0 || oport > 255 ? 255 : (unsigned char)oport;
    int body = ask(chip, SEND, &port, 1, pkt, bytes);
    if (body < 0)
        return -1;
    return body > 0 && chip->message[HEAD_BYTES] != 0;
}

int RecvPacket(ServerSwitch *chip, void *pkt, size_t room, int *iport, int timeout_ms)
{
    if (!chip->listens) {
        if (ask(chip, LISTEN, "\1", 1, "", 0) < 0)
            return -1;
        chip->listens = 1;
    }
    if (chip->first == NULL) {
        int body = receive(chip, timeout_ms);
        if (body == NO_TIME)
            return 0;
        if (body < 0 || (chip->message[0] == PACKET && keep(chip, body) != 0))
            return -1;
    }
    Kept *kept = chip->first;
    if (kept == NULL)
        return 0;
    chip->first = kept->next;
    if (chip->first == NULL)
        chip->last = NULL;
    chip->kept--;
    size_t bytes = kept->bytes;
    memcpy(pkt, kept->packet, bytes < room ? bytes : room);
    *iport = kept->port;
    free(kept);
    return (int)bytes;
}
