/*
 * fuzz_run.c - the libFuzzer target of the reader of runs: any bytes as a run's records.plumb,
 * flight.plumb or run.json, by what they begin with; opened, visited and reported.
 *
 * Checksums would keep everything but whole blocks from the reader behind them, so the bytes are
 * tried as they are and with checksums that hold.
 */
#include "base/bytes.h"
#include "base/crc32.h"
#include "format/flight_ring.h"
#include "format/run_block.h"
#include "property/exercise_run.h"

#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { LARGEST = 1 << 20, HEADER_CRC = 12, BODY_SIZE = 16, BODY_CRC = 24, SLOT_CRC = 28 };

static char folder[64], rank_folder[80], file_names[3][120];

static void remove_run(void)
{
    for (int i = 0; i < 3; i++)
        (void)unlink(file_names[i]);
    (void)rmdir(rank_folder);
    (void)rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0])
        return;
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/plumb-fuzz-XXXXXX", place);
    if (!mkdtemp(folder))
        abort();
    snprintf(rank_folder, sizeof rank_folder, "%s/rank0000", folder);
    snprintf(file_names[0], sizeof file_names[0], "%s/records.plumb", rank_folder);
    snprintf(file_names[1], sizeof file_names[1], "%s/flight.plumb", rank_folder);
    snprintf(file_names[2], sizeof file_names[2], "%s/run.json", folder);
    if (mkdir(rank_folder, 0700) != 0)
        abort();
    atexit(remove_run);
}

static void put_file(int which, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(file_names[which], "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static void mend_blocks(unsigned char *bytes, size_t size)
{
    for (size_t at = 0; size - at >= PLUMB_BLOCK_HEADER;) {
        unsigned char *header = bytes + at;
        const size_t left = size - at - PLUMB_BLOCK_HEADER;
        const uint64_t body = plumb_load_u64(header + BODY_SIZE);
        if (memcmp(header, plumb_block_magic, sizeof plumb_block_magic) != 0 || body > left)
            return;
        plumb_store_u32(header + BODY_CRC,
                        plumb_crc32(0, header + PLUMB_BLOCK_HEADER, (size_t)body));
        plumb_store_u32(header + HEADER_CRC, 0);
        plumb_store_u32(header + HEADER_CRC, plumb_crc32(0, header, PLUMB_BLOCK_HEADER));
        at += PLUMB_BLOCK_HEADER + (size_t)body;
    }
}

static void mend_flight(unsigned char *bytes, size_t size)
{
    for (size_t at = PLUMB_FLIGHT_HEADER; at + PLUMB_FLIGHT_SLOT <= size;
         at += PLUMB_FLIGHT_SLOT) {
        plumb_store_u32(bytes + at + SLOT_CRC, 0);
        plumb_store_u32(bytes + at + SLOT_CRC, plumb_crc32(0, bytes + at, PLUMB_FLIGHT_SLOT));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    make_folder();
    unsigned char *copy = malloc(size + 1);
    if (!copy || size > LARGEST) {
        free(copy);
        return 0;
    }
    memcpy(copy, bytes, size);
    const bool records = size >= 8 && memcmp(copy, plumb_block_magic, 8) == 0;
    const bool flight = size >= 8 && memcmp(copy, "PLUMBFLT", 8) == 0;
    const int which = records ? 0 : flight ? 1 : 2;
    for (int i = 0; i < 3; i++)
        (void)unlink(file_names[i]);
    if (which == 1)
        put_file(2, (const unsigned char *)"{}\n", 3);
    put_file(which, copy, size);
    exercise_run(folder);
    if (records)
        mend_blocks(copy, size);
    else if (flight)
        mend_flight(copy, size);
    if (records || flight) {
        put_file(which, copy, size);
        exercise_run(folder);
    }
    free(copy);
    return 0;
}
