/* replay_corpus.c - feeds files to the fuzz target without libFuzzer, under the sanitizers. */
#include "property/exercise.h"
#include "property/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int main(int argc, char **argv)
{
    size_t replayed = 0;
    for (int i = 1; i < argc; i++) {
        struct samples *samples = calloc(1, sizeof *samples);
        if (!samples)
            return 2;
        samples_add(samples, argv[i]);
        for (size_t k = 0; k < samples->count; k++) {
            size_t size = 0;
            unsigned char *bytes = exercise_load(samples->paths[k], &size);
            if (!bytes) {
                fprintf(stderr, "%s: cannot be read\n", samples->paths[k]);
                return 2;
            }
            LLVMFuzzerTestOneInput(bytes, size);
            free(bytes);
            replayed++;
        }
        free(samples);
    }
    printf("%zu passed, 0 failed\n", replayed);
    return replayed == 0;
}
