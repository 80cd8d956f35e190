/*
 * flight_ring.h - flight.plumb: the last operations of a rank, in a file mapped by the recorder,
 * so that they are there whatever ends the process.
 *
 *     0    8   "PLUMBFLT"
 *     8    u32 version      1
 *     12   u32 slots
 *     16   u32 slot size    128
 *     20   u32 process id
 *     24   u32 state        enum plumb_flight_state
 *     64   256 why the capture ended, text ending in 0
 *     512  slots:
 *          0    u64 number      from 1; 0: empty or being written; it is in slot (number - 1) % slots
 *          8    i64 time        nanoseconds of the monotonic clock
 *          16   i64 step
 *          24   u8  what        enum plumb_flight_what
 *          25   u8  phase       enum plumb_phase
 *          26   u16 call
 *          28   u32 crc         crc32 of the slot with this field 0
 *          32   96  text ending in 0: the op, or a group
 */
#ifndef PLUMB_FORMAT_FLIGHT_RING_H
#define PLUMB_FORMAT_FLIGHT_RING_H

#include "plumb.h"

enum {
    PLUMB_FLIGHT_VERSION = 1,
    PLUMB_FLIGHT_HEADER = 512,
    PLUMB_FLIGHT_MESSAGE = 64,
    PLUMB_FLIGHT_MESSAGE_SIZE = 256,
    PLUMB_FLIGHT_SLOT = 128,
    PLUMB_FLIGHT_TEXT = 32,
    PLUMB_FLIGHT_TEXT_SIZE = 96,
    PLUMB_FLIGHT_MOST = 1 << 16,
};

enum plumb_flight_state {
    PLUMB_FLIGHT_RECORDING = 1,
    PLUMB_FLIGHT_CLOSED = 2,
    PLUMB_FLIGHT_STOPPED = 3, /* the capture ended before the run, see the message */
};

enum plumb_flight_what {
    PLUMB_FLIGHT_STEP_BEGIN = 1,
    PLUMB_FLIGHT_STEP_END = 2,
    PLUMB_FLIGHT_ENTER = 3,
    PLUMB_FLIGHT_LEAVE = 4,
    PLUMB_FLIGHT_COLLECTIVE = 5,
};

struct plumb_flight_slot {
    uint64_t number;
    int64_t time_ns, step;
    enum plumb_flight_what what;
    enum plumb_phase phase;
    uint16_t call;
    char text[PLUMB_FLIGHT_TEXT_SIZE]; /* 0 from its end on */
};

struct plumb_flight_header {
    uint32_t slots, pid;
    enum plumb_flight_state state;
    char message[PLUMB_FLIGHT_MESSAGE_SIZE];
};

/* Both write all bytes of their part. */
void plumb_flight_store_header(void *to, const struct plumb_flight_header *header);
void plumb_flight_store_slot(void *to, const struct plumb_flight_slot *slot);
/* False if the bytes are not what the layout says; `size` is of the file. */
bool plumb_flight_load_header(const void *from, size_t size,
                              struct plumb_flight_header *header);
/* False if the slot is empty, half-written or damaged. */
bool plumb_flight_load_slot(const void *from, struct plumb_flight_slot *slot);

#endif
