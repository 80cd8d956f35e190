/* flight_ring.c - see flight_ring.h. */
#include "format/flight_ring.h"

#include "base/bytes.h"
#include "base/crc32.h"

#include <stdio.h>
#include <string.h>

static const char magic[8] = {'P', 'L', 'U', 'M', 'B', 'F', 'L', 'T'};

enum { CRC_AT = 28 };

void plumb_flight_store_header(void *to, const struct plumb_flight_header *header)
{
    unsigned char *bytes = to;
    memset(bytes, 0, PLUMB_FLIGHT_HEADER);
    memcpy(bytes, magic, sizeof magic);
    plumb_store_u32(bytes + 8, PLUMB_FLIGHT_VERSION);
    plumb_store_u32(bytes + 12, header->slots);
    plumb_store_u32(bytes + 16, PLUMB_FLIGHT_SLOT);
    plumb_store_u32(bytes + 20, header->pid);
    plumb_store_u32(bytes + 24, header->state);
    (void)snprintf((char *)bytes + PLUMB_FLIGHT_MESSAGE, PLUMB_FLIGHT_MESSAGE_SIZE, "%s",
                   header->message);
}

/* The number is taken away first and put last: a process killed in between leaves an empty slot. */
void plumb_flight_store_slot(void *to, const struct plumb_flight_slot *slot)
{
    unsigned char bytes[PLUMB_FLIGHT_SLOT];
    plumb_store_u64(bytes, slot->number);
    plumb_store_u64(bytes + 8, (uint64_t)slot->time_ns);
    plumb_store_u64(bytes + 16, (uint64_t)slot->step);
    bytes[24] = (unsigned char)slot->what;
    bytes[25] = (unsigned char)slot->phase;
    plumb_store_u16(bytes + 26, slot->call);
    plumb_store_u32(bytes + CRC_AT, 0);
    memcpy(bytes + PLUMB_FLIGHT_TEXT, slot->text, PLUMB_FLIGHT_TEXT_SIZE);
    plumb_store_u32(bytes + CRC_AT, plumb_crc32(0, bytes, sizeof bytes));
    __atomic_store_n((uint64_t *)to, 0, __ATOMIC_RELEASE);
    memcpy((unsigned char *)to + 8, bytes + 8, sizeof bytes - 8);
    __atomic_store_n((uint64_t *)to, slot->number, __ATOMIC_RELEASE);
}

bool plumb_flight_load_header(const void *from, size_t size, struct plumb_flight_header *header)
{
    const unsigned char *bytes = from;
    if (size < PLUMB_FLIGHT_HEADER || memcmp(bytes, magic, sizeof magic) != 0)
        return false;
    *header = (struct plumb_flight_header){.slots = plumb_load_u32(bytes + 12),
                                           .pid = plumb_load_u32(bytes + 20),
                                           .state = plumb_load_u32(bytes + 24)};
    (void)snprintf(header->message, sizeof header->message, "%.*s",
                   PLUMB_FLIGHT_MESSAGE_SIZE - 1, (const char *)bytes + PLUMB_FLIGHT_MESSAGE);
    return plumb_load_u32(bytes + 16) == PLUMB_FLIGHT_SLOT &&
           header->slots <= PLUMB_FLIGHT_MOST &&
           (size - PLUMB_FLIGHT_HEADER) / PLUMB_FLIGHT_SLOT >= header->slots;
}

bool plumb_flight_load_slot(const void *from, struct plumb_flight_slot *slot)
{
    unsigned char bytes[PLUMB_FLIGHT_SLOT];
    memcpy(bytes, from, sizeof bytes);
    const uint32_t crc = plumb_load_u32(bytes + CRC_AT);
    plumb_store_u32(bytes + CRC_AT, 0);
    *slot = (struct plumb_flight_slot){.number = plumb_load_u64(bytes),
                                       .time_ns = (int64_t)plumb_load_u64(bytes + 8),
                                       .step = (int64_t)plumb_load_u64(bytes + 16),
                                       .what = bytes[24],
                                       .phase = bytes[25],
                                       .call = plumb_load_u16(bytes + 26)};
    memcpy(slot->text, bytes + PLUMB_FLIGHT_TEXT, sizeof slot->text);
    slot->text[sizeof slot->text - 1] = '\0';
    return slot->number && crc == plumb_crc32(0, bytes, sizeof bytes);
}
