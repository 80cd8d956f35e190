/* flight.c - see flight.h. */
#include "record/flight.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum plumb_status plumb_flight_open(struct plumb_flight *flight, const char *directory,
                                    size_t slots, struct plumb_error *err)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/flight.plumb", directory) >= (int)sizeof path)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", directory);
    const size_t count = slots > PLUMB_FLIGHT_MOST ? (size_t)PLUMB_FLIGHT_MOST : slots;
    const size_t size = PLUMB_FLIGHT_HEADER + count * PLUMB_FLIGHT_SLOT;
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return plumb_fail_errno(err, "create", path);
    /* Space is taken now: a full disk is an error here, and would be a SIGBUS later. */
    const int full = posix_fallocate(fd, 0, (off_t)size);
    void *base = MAP_FAILED;
    if (full == 0)
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    else
        errno = full;
    enum plumb_status status =
        base == MAP_FAILED ? plumb_fail_errno(err, "write", path) : PLUMB_OK;
    (void)close(fd);
    if (status)
        return status;
    *flight = (struct plumb_flight){.base = base, .size = size, .slots = (uint32_t)count};
    plumb_flight_end(flight, PLUMB_FLIGHT_RECORDING, NULL);
    return PLUMB_OK;
}

void plumb_flight_note(struct plumb_flight *flight, enum plumb_flight_what what, int64_t step,
                       int64_t time_ns, enum plumb_phase phase, int call, const char *text,
                       size_t length)
{
    if (!flight->base)
        return;
    struct plumb_flight_slot slot = {.number = ++flight->number,
                                     .time_ns = time_ns,
                                     .step = step,
                                     .what = what,
                                     .phase = phase,
                                     .call = call < UINT16_MAX ? (uint16_t)call : UINT16_MAX};
    const size_t most = sizeof slot.text - 1;
    memcpy(slot.text, text, length < most ? length : most);
    const size_t at = (size_t)((slot.number - 1) % flight->slots);
    plumb_flight_store_slot(flight->base + PLUMB_FLIGHT_HEADER + at * PLUMB_FLIGHT_SLOT, &slot);
}

void plumb_flight_end(struct plumb_flight *flight, enum plumb_flight_state state,
                      const char *message)
{
    if (!flight->base)
        return;
    struct plumb_flight_header header = {
        .slots = flight->slots, .pid = (uint32_t)getpid(), .state = state};
    (void)snprintf(header.message, sizeof header.message, "%s", message ? message : "");
    plumb_flight_store_header(flight->base, &header);
}

void plumb_flight_close(struct plumb_flight *flight)
{
    if (flight->base)
        (void)munmap(flight->base, flight->size);
    *flight = (struct plumb_flight){0};
}
