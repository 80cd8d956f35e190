/* fuzz_formats.c - the libFuzzer target of the registries of formats: any bytes, opened as whatever
 * they look like, tensors or records. `make fuzz SECONDS=600` runs it; what it finds goes into corpus/. */
#include "property/exercise_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *complaint = exercise("fuzz.bin", bytes, size, NULL);
    struct exercise_found found;
    if (!complaint)
        complaint = exercise_records(bytes, size, true, &found);
    if (complaint) {
        fprintf(stderr, "broken promise: %s\n", complaint);
        abort();
    }
    return 0;
}
