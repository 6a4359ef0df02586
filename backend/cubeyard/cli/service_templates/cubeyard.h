/* What a CamCube service can ask and do. Belongs to the template: nothing here needs to be changed.
 *
 * Exports that a service needs: F(at, length), classify(length), deliver(at, length). It may have more: init(),
 * packet(port, length) -> 0 pass, 1 route, 2 consumed, 3 drop; queue(number) -> milliseconds << 32 | weight (64 bits);
 * neighbour(port, up); timer(); message(length). The packet or message is in cube_packet.
 * Include it in one file.
 */
#ifndef CUBEYARD_H
#define CUBEYARD_H

typedef unsigned cube_key; /* a coordinate: x | y << 8 | z << 16; -1: none */

#define EXPORT(name) __attribute__((export_name(name)))
#define CUBE_IMPORT(name) __attribute__((import_module("cubeyard"), import_name(name))) extern

CUBE_IMPORT("here") cube_key cube_here(void);                 /* this server's coordinate */
CUBE_IMPORT("size") unsigned cube_size(unsigned axis);        /* servers along an axis */
CUBE_IMPORT("neighbour") cube_key cube_neighbour(unsigned port); /* at a port 0 to 5, if it lives */
CUBE_IMPORT("reachable") int cube_reachable(cube_key server);
CUBE_IMPORT("root_of") cube_key cube_root_of(cube_key key);   /* who answers for a key */
CUBE_IMPORT("responsible") int cube_responsible(cube_key key); /* whether this server does */
CUBE_IMPORT("dist") unsigned cube_dist(cube_key a, cube_key b); /* hops */
CUBE_IMPORT("dist_axis") unsigned cube_dist_axis(cube_key a, cube_key b, unsigned axis);
CUBE_IMPORT("neighbour_key") cube_key cube_neighbour_key(cube_key key, unsigned axis, int up);

CUBE_IMPORT("key") cube_key cube_key_of_packet(void);
CUBE_IMPORT("colour") unsigned cube_colour(void);             /* a number of the service's own */
CUBE_IMPORT("set_colour") void cube_set_colour(unsigned colour);
CUBE_IMPORT("set_length") void cube_set_length(unsigned length); /* of the packet in cube_packet */
CUBE_IMPORT("next") int cube_next(cube_key key);              /* in F: one of the next keys, at most 16 */
CUBE_IMPORT("route") int cube_route(const void *at, unsigned length, cube_key key); /* asks F here */
CUBE_IMPORT("transmit") int cube_transmit(const void *at, unsigned length, cube_key key); /* without F here */
CUBE_IMPORT("send") int cube_send(unsigned port, const void *at, unsigned length); /* one hop, if the link is free */
CUBE_IMPORT("answer") int cube_answer(const void *at, unsigned length); /* to the outside, at most 4096 bytes */
CUBE_IMPORT("waiting") unsigned cube_waiting(void);           /* packets of this service that wait here */
CUBE_IMPORT("max_payload") unsigned cube_max_payload(void);

CUBE_IMPORT("now_ms") long long cube_now_ms(void);
CUBE_IMPORT("random") unsigned long long cube_random(void);
CUBE_IMPORT("set_timer") void cube_set_timer(unsigned millis); /* one timer; the latest call counts */
CUBE_IMPORT("count") void cube_count(unsigned counter, unsigned by); /* counters 0 to 7, for the inspector */

static unsigned char cube_packet[32 * 1024];

EXPORT("buffer") unsigned char *cube_buffer(void) { return cube_packet; }

static inline cube_key cube_make_key(unsigned x, unsigned y, unsigned z) {
    return (x & 255) | (y & 255) << 8 | (z & 255) << 16;
}
static inline cube_key cube_read_key(const unsigned char *at) { return cube_make_key(at[0], at[1], at[2]); }
static inline void cube_write_key(unsigned char *at, cube_key key) {
    at[0] = (unsigned char)key, at[1] = (unsigned char)(key >> 8), at[2] = (unsigned char)(key >> 16);
}

#endif
