/* fuzz_formats.c - the libFuzzer target of the format registry: any bytes, opened as whatever
 * they look like. `make fuzz SECONDS=600` runs it; what it finds goes into corpus/. */
#include "property/exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *complaint = exercise("fuzz.bin", bytes, size, NULL);
    if (complaint) {
        fprintf(stderr, "broken promise: %s\n", complaint);
        abort();
    }
    return 0;
}
