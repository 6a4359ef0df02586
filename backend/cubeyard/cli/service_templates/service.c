/* NAME: a service of a CamCube. Every server of the torus runs an instance of it.
 *
 * It carries a greeting to the server that answers for a key: change it into what you want.
 * Build: make. Try: cubeyard service test NAME.wasm
 */
#include "cubeyard.h"

/* A packet: the key it is for, the coordinate it comes from, two bytes of nothing, and the text. */
enum { TEXT = 8, MOST = 1024 };

static unsigned char out[MOST];

/* A message from people or programs outside: cubeyard service send RUN SERVICE '2,1,0 hello' */
EXPORT("message") void on_message(int length) {
    unsigned numbers[3] = {0, 0, 0};
    int axis = 0, at = 0;
    for (; at < length && axis < 3; at++) {
        unsigned char byte = cube_packet[at];
        if (byte >= '0' && byte <= '9')
            numbers[axis] = numbers[axis] * 10 + (byte - '0');
        else
            axis++;
    }
    cube_key to = cube_make_key(numbers[0], numbers[1], numbers[2]);
    int size = TEXT;
    cube_write_key(out, to);
    cube_write_key(out + 3, cube_here());
    while (at < length && size < MOST)
        out[size++] = cube_packet[at++];
    cube_route(out, size, to);
}

/* F: the next key coordinates; the packet goes to one of them. None: it is delivered here. */
EXPORT("F") void next(cube_key at, int length) {
    cube_key to = cube_read_key(cube_packet);
    if (length >= TEXT && to != at)
        cube_next(to);
}

/* The queue of a packet, 0 to 15. */
EXPORT("classify") int classify(int length) {
    (void)length;
    return 0;
}

/* A packet is at its end. */
EXPORT("deliver") void deliver(cube_key at, int length) {
    (void)at;
    cube_count(0, 1);
    if (length >= TEXT)
        cube_answer(cube_packet + TEXT, length - TEXT);
}
