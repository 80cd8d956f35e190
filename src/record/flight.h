/* flight.h - the flight recorder: writes flight_ring.h's file through a mapping. */
#ifndef PLUMB_RECORD_FLIGHT_H
#define PLUMB_RECORD_FLIGHT_H

#include "format/flight_ring.h"

struct plumb_flight {
    unsigned char *base; /* NULL: none */
    size_t size;
    uint32_t slots;
    uint64_t number; /* of the last entry */
};

enum plumb_status plumb_flight_open(struct plumb_flight *flight, const char *directory,
                                    size_t slots, struct plumb_error *err);
/* `text`, `length` bytes long, is cut to fit. */
void plumb_flight_note(struct plumb_flight *flight, enum plumb_flight_what what, int64_t step,
                       int64_t time_ns, enum plumb_phase phase, int call, const char *text,
                       size_t length);
/* `message` may be NULL. */
void plumb_flight_end(struct plumb_flight *flight, enum plumb_flight_state state,
                      const char *message);
void plumb_flight_close(struct plumb_flight *flight);

#endif
