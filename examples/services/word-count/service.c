/* word-count: CamCube's aggregation service as a module. [camcube §3.4] Words are counted over all servers, and counts are added up
 * where their packets meet.
 *
 * It does what the built-in service `aggregation` does (crates/dataplane/src/camcube/services/aggregation.rs says how), packet for
 * packet, which a test compares. A message is `count JOB X,Y,Z full` or `count JOB X,Y,Z none`, a line feed, and the text; each server
 * gets one. The server that answers for X,Y,Z says `JOB SERVERS`, then a line `WORD COUNT` for each word.
 *
 * Less than the built-in one: 8 jobs, 512 words and 8 KiB of their letters a job, answers of 4,096 bytes, and above 1,000 servers nobody
 * begins for a failed server, whose sum is then sent on when its time is over.
 *
 * Build: make. Try: cubeyard service test word-count.wasm --message "$(printf 'count 1 0,0,0 full\nsome words')"
 */
#include "cubeyard.h"

enum { PASS, ROUTE, CONSUMED, DROP };
enum { PARTIAL = 1, ALONE = 2, HEAD = 19, JOBS = 8, WORDS = 512, LETTERS = 8192, PENDING = 16, MANY = 1000 };
enum { PATIENCE_MILLIS = 2000, ANSWER = 4096, MOST_PAYLOAD = 9000 };
enum { INCOMPLETE, LATE, LEFT_OUT }; /* counters */
#define NONE ((cube_key)-1)

typedef unsigned long long count_t;

struct word { unsigned at, length; count_t count; };
struct counts { int words; unsigned letters; struct word word[WORDS]; unsigned char text[LETTERS]; };

/* What a coordinate has of a job. */
struct gathered {
    unsigned job, servers; /* coordinates whose words are in it */
    cube_key at, root, whole[6];
    int used, full, own, sent, wholes;
    long long until;
    struct { cube_key from; unsigned left; } pending[PENDING]; /* parts of sums that are not whole */
    struct counts counts;
};

static struct gathered jobs[JOBS];
static struct counts fresh; /* of a message */
static unsigned char out[MOST_PAYLOAD];
static unsigned sizes[3];

/* In the first call: what happens before, in `init`, knows nothing of the network yet. */
static void learn_sizes(void) {
    for (unsigned axis = 0; !sizes[2] && axis < 3; axis++)
        sizes[axis] = cube_size(axis);
}

static unsigned axis_of(cube_key key, unsigned axis) { return key >> 8 * axis & 255; }

/* The coordinate after `at` on the path to `root`: axis after axis, in an order that a hash of the root picks. */
static cube_key next(cube_key at, cube_key root) {
    static const unsigned char orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    count_t hash = 0xcbf29ce484222325ULL;
    for (unsigned axis = 0; axis < 3; axis++)
        hash = (hash ^ axis_of(root, axis)) * 0x100000001b3ULL;
    for (int i = 0; i < 3; i++) {
        unsigned axis = orders[hash % 6][i], size = sizes[axis], here = axis_of(at, axis);
        unsigned up = (axis_of(root, axis) + size - here) % size;
        if (up) {
            unsigned moved = (here + (up <= size - up ? 1 : size - 1)) % size;
            return (at & ~(255u << 8 * axis)) | moved << 8 * axis;
        }
    }
    return NONE;
}

static int compare(const unsigned char *a, unsigned a_length, const unsigned char *b, unsigned b_length) {
    for (unsigned i = 0; i < a_length && i < b_length; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return a_length == b_length ? 0 : a_length < b_length ? -1 : 1;
}

/* Adds to a word's count; words are kept in order. */
static void add(struct counts *to, const unsigned char *word, unsigned length, count_t count) {
    int low = 0, high = to->words;
    while (low < high) {
        int middle = (low + high) / 2, order;
        order = compare(to->text + to->word[middle].at, to->word[middle].length, word, length);
        if (!order) {
            to->word[middle].count += count;
            return;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (to->words == WORDS || to->letters + length > LETTERS) {
        cube_count(LEFT_OUT, 1);
        return;
    }
    __builtin_memmove(to->word + low + 1, to->word + low, (unsigned)(to->words - low) * sizeof *to->word);
    __builtin_memcpy(to->text + to->letters, word, length);
    to->word[low] = (struct word){to->letters, length, count};
    to->letters += length;
    to->words++;
}

static void write_number(unsigned char *at, unsigned bytes, count_t number) {
    while (bytes--) {
        at[bytes] = (unsigned char)number;
        number >>= 8;
    }
}

static count_t read_number(const unsigned char *at, unsigned bytes) {
    count_t number = 0;
    while (bytes--)
        number = number << 8 | *at++;
    return number;
}

/* Words from `first` on that one packet holds: the one after the last of them. */
static int fits(const struct counts *counts, int first, unsigned most) {
    unsigned length = HEAD;
    while (first < counts->words && length + counts->word[first].length + 10 <= most)
        length += counts->word[first++].length + 10;
    return first;
}

/* Sends counts one coordinate on, in as many packets as it takes. */
static void send(const struct gathered *sum, int kind, const struct counts *counts, cube_key to) {
    unsigned most = cube_max_payload() < MOST_PAYLOAD ? cube_max_payload() : MOST_PAYLOAD, parts = 0, part = 0;
    int first = 0;
    do {
        first = fits(counts, first, most);
        parts++;
    } while (first < counts->words);
    out[0] = (unsigned char)kind;
    write_number(out + 1, 4, sum->job);
    cube_write_key(out + 5, sum->root);
    cube_write_key(out + 8, sum->at);
    write_number(out + 11, 4, sum->servers);
    write_number(out + 15, 2, parts);
    for (first = 0; part < parts; part++) {
        unsigned length = HEAD;
        write_number(out + 17, 2, part);
        for (int end = fits(counts, first, most); first < end; first++) {
            const struct word *word = counts->word + first;
            write_number(out + length, 2, word->length);
            __builtin_memcpy(out + length + 2, counts->text + word->at, word->length);
            write_number(out + length + 2 + word->length, 8, word->count);
            length += word->length + 10;
        }
        cube_transmit(out, length, to);
    }
}

static unsigned write_decimal(unsigned char *at, unsigned room, count_t number) {
    unsigned char digits[20];
    unsigned count = 0, written = 0;
    do
        digits[count++] = (unsigned char)('0' + number % 10);
    while (number /= 10);
    while (count && written < room)
        at[written++] = digits[--count];
    return written;
}

static void say(const struct gathered *sum) {
    unsigned length = write_decimal(out, ANSWER, sum->job);
    out[length++] = ' ';
    length += write_decimal(out + length, ANSWER - length, sum->servers);
    out[length++] = '\n';
    for (int i = 0; i < sum->counts.words; i++) {
        const struct word *word = sum->counts.word + i;
        if (length + word->length + 22 > ANSWER) {
            cube_count(LEFT_OUT, (unsigned)(sum->counts.words - i));
            break;
        }
        __builtin_memcpy(out + length, sum->counts.text + word->at, word->length);
        length += word->length;
        out[length++] = ' ';
        length += write_decimal(out + length, ANSWER - length, word->count);
        out[length++] = '\n';
    }
    cube_answer(out, length);
}

/* The job of a number at a coordinate; one that is new takes the place of the oldest. */
static struct gathered *gathered(unsigned job, cube_key at, cube_key root, int full) {
    struct gathered *oldest = jobs;
    for (int i = 0; i < JOBS; i++) {
        if (jobs[i].used && jobs[i].job == job && jobs[i].at == at)
            return jobs + i;
        if (oldest->used && (!jobs[i].used || jobs[i].job < oldest->job))
            oldest = jobs + i;
    }
    __builtin_memset(oldest, 0, sizeof *oldest - sizeof oldest->counts);
    oldest->counts.words = 0;
    oldest->counts.letters = 0;
    oldest->used = 1;
    oldest->job = job;
    oldest->at = at;
    oldest->root = root;
    oldest->full = full;
    oldest->until = cube_now_ms() + PATIENCE_MILLIS;
    return oldest;
}

/* Whether all that come by way of a coordinate have come. */
static int complete(const struct gathered *sum) {
    if (!sum->full)
        return sum->servers >= sizes[0] * sizes[1] * sizes[2];
    for (unsigned way = 0; sum->own && way < 6; way++) {
        cube_key key = cube_neighbour_key(sum->at, way / 2, way % 2);
        if (key == sum->at || next(key, sum->root) != sum->at)
            continue;
        int has = 0;
        for (int i = 0; i < sum->wholes; i++)
            has |= sum->whole[i] == key;
        if (!has)
            return 0;
    }
    return sum->own;
}

/* Sends on, or says, what a coordinate has if that is all, or it waits no longer. */
static void settle(struct gathered *sum, int waits) {
    int all = complete(sum);
    if (sum->sent || (!all && waits))
        return;
    sum->sent = 1;
    if (!all)
        cube_count(INCOMPLETE, 1);
    cube_key to = next(sum->at, sum->root);
    if (to == NONE)
        say(sum);
    else
        send(sum, PARTIAL, &sum->counts, to);
}

/* Asks for a call when the first coordinate that still waits gives up. */
static void set_timer(void) {
    long long first = -1, now = cube_now_ms();
    for (int i = 0; i < JOBS; i++)
        if (jobs[i].used && !jobs[i].sent && (first < 0 || jobs[i].until < first))
            first = jobs[i].until;
    if (first >= 0)
        cube_set_timer(first > now ? (unsigned)(first - now) : 1);
}

EXPORT("timer") void timer(void) {
    long long now = cube_now_ms();
    for (int i = 0; i < JOBS; i++)
        if (jobs[i].used && !jobs[i].sent && jobs[i].until <= now)
            settle(jobs + i, 0);
    set_timer();
}

/* A coordinate takes part with the words of its own server, or with none. */
static void begin(unsigned job, cube_key at, cube_key root, int full, const struct counts *own) {
    static struct counts nothing; /* not const: as data it would be in the module */
    const struct counts *counts = own ? own : &nothing;
    cube_key to = full ? NONE : next(at, root);
    if (to != NONE) {
        static struct gathered alone;
        alone.job = job, alone.at = at, alone.root = root, alone.servers = 1;
        send(&alone, ALONE, counts, to);
        return;
    }
    struct gathered *sum = gathered(job, at, root, full);
    if (!sum->own) {
        sum->own = 1;
        sum->servers++;
        for (int i = 0; i < counts->words; i++)
            add(&sum->counts, counts->text + counts->word[i].at, counts->word[i].length, counts->word[i].count);
    }
    settle(sum, 1);
}

static int is_space(unsigned char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';
}

/* Reads digits; -1 without any, or above 2^32. */
static long long read_digits(int *at, int length) {
    long long number = -1;
    for (; *at < length && cube_packet[*at] >= '0' && cube_packet[*at] <= '9' && number < 1LL << 32; ++*at)
        number = (number < 0 ? 0 : number * 10) + cube_packet[*at] - '0';
    return number < 1LL << 32 ? number : -1;
}

static int reads(int *at, int length, const char *word) {
    int from = *at;
    for (; *word; word++, from++)
        if (from >= length || cube_packet[from] != *word)
            return 0;
    *at = from;
    return 1;
}

EXPORT("message") void message(int length) {
    learn_sizes();
    int at = 0, right = reads(&at, length, "count "), full = 0;
    long long job = read_digits(&at, length), place[3];
    right &= job >= 0 && reads(&at, length, " ");
    for (int axis = 0; axis < 3; axis++) {
        place[axis] = read_digits(&at, length);
        right &= place[axis] >= 0 && place[axis] < sizes[axis] && reads(&at, length, axis < 2 ? "," : " ");
    }
    full = reads(&at, length, "full");
    right &= full || reads(&at, length, "none");
    if (!right || (at < length && cube_packet[at] != '\n')) {
        static const char wrong[] = "error: say count JOB X,Y,Z full|none, a line feed, and the text";
        cube_answer(wrong, sizeof wrong - 1);
        return;
    }
    fresh.words = 0;
    fresh.letters = 0;
    while (at < length) {
        while (at < length && is_space(cube_packet[at]))
            at++;
        int from = at;
        while (at < length && !is_space(cube_packet[at]))
            at++;
        if (at > from)
            add(&fresh, cube_packet + from, (unsigned)(at - from), 1);
    }
    cube_key root = cube_make_key((unsigned)place[0], (unsigned)place[1], (unsigned)place[2]), here = cube_here();
    if (sizes[0] * sizes[1] * sizes[2] > MANY) {
        begin((unsigned)job, here, root, full, &fresh);
    } else {
        for (unsigned x = 0; x < sizes[0]; x++)
            for (unsigned y = 0; y < sizes[1]; y++)
                for (unsigned z = 0; z < sizes[2]; z++) {
                    cube_key key = cube_make_key(x, y, z);
                    if (key == here || cube_responsible(key))
                        begin((unsigned)job, key, root, full, key == here ? &fresh : 0);
                }
    }
    set_timer();
}

/* Whether a sum of another coordinate is whole with this part. */
static int is_whole(struct gathered *sum, cube_key from, unsigned parts) {
    if (parts == 1)
        return 1;
    for (int i = 0; i < PENDING; i++)
        if (sum->pending[i].left && sum->pending[i].from == from)
            return !--sum->pending[i].left;
    for (int i = 0; i < PENDING; i++)
        if (!sum->pending[i].left) {
            sum->pending[i].from = from;
            sum->pending[i].left = parts - 1;
            return 0;
        }
    cube_count(LEFT_OUT, 1);
    return 0;
}

EXPORT("packet") int packet(unsigned port, int length) {
    cube_key at = cube_key_of_packet();
    (void)port;
    learn_sizes();
    if (!cube_responsible(at))
        return PASS;
    if (length < HEAD || (cube_packet[0] != PARTIAL && cube_packet[0] != ALONE))
        return DROP;
    unsigned job = (unsigned)read_number(cube_packet + 1, 4), servers = (unsigned)read_number(cube_packet + 11, 4);
    unsigned parts = (unsigned)read_number(cube_packet + 15, 2);
    cube_key root = cube_read_key(cube_packet + 5), from = cube_read_key(cube_packet + 8);
    if (cube_packet[0] == ALONE && at != root)
        return PASS;
    struct gathered *sum = gathered(job, at, root, cube_packet[0] == PARTIAL);
    if (sum->sent) {
        cube_count(LATE, 1);
        return DROP;
    }
    if (is_whole(sum, from, parts)) {
        if (sum->full && sum->wholes < 6)
            sum->whole[sum->wholes++] = from;
        sum->servers += servers;
    }
    for (int i = HEAD; i + 10 <= length;) {
        unsigned letters = (unsigned)read_number(cube_packet + i, 2);
        if (i + 10 + (int)letters > length)
            break;
        add(&sum->counts, cube_packet + i + 2, letters, read_number(cube_packet + i + 2 + letters, 8));
        i += (int)letters + 10;
    }
    settle(sum, 1);
    set_timer();
    return CONSUMED;
}

/* F: one coordinate on, of a packet that goes alone. */
EXPORT("F") void f(cube_key at, int length) {
    learn_sizes();
    cube_key to = length < HEAD ? NONE : next(at, cube_read_key(cube_packet + 5));
    if (to != NONE)
        cube_next(to);
}

EXPORT("classify") int classify(int length) {
    (void)length;
    return 0;
}

/* Nothing is left for it: `packet` takes in what is at its end. */
EXPORT("deliver") void deliver(cube_key at, int length) {
    (void)at;
    (void)length;
}
