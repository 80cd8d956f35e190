/*
 * make_checkpoints.c - writes the same small network twice: as PyTorch and as MindSpore save it.
 *     make_checkpoints net.pth net.ckpt
 * Each framework has its own names for batch norm and embedding, and one layer is not the same:
 * output channel 3 of the second convolution is 2 % too large on the MindSpore side, as a
 * broken kernel or a bad migration would leave it.
 */
#include <plumb.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct layer {
    const char *pytorch;
    const char *mindspore;
    int rank;
    int64_t shape[4];
    double centre, spread;
};

static const struct layer network[] = {
    {"conv1.weight", "conv1.weight", 4, {16, 3, 3, 3}, 0, 0.2},
    {"bn1.weight", "bn1.gamma", 1, {16}, 1, 0.1},
    {"bn1.bias", "bn1.beta", 1, {16}, 0, 0.1},
    {"bn1.running_mean", "bn1.moving_mean", 1, {16}, 0, 0.5},
    {"bn1.running_var", "bn1.moving_variance", 1, {16}, 2, 0.3},
    {"conv2.weight", "conv2.weight", 4, {32, 16, 3, 3}, 0, 0.1},
    {"conv2.bias", "conv2.bias", 1, {32}, 0, 0.05},
    {"embedding.weight", "embedding.embedding_table", 2, {1000, 64}, 0, 1},
    {"fc.weight", "fc.weight", 2, {10, 512}, 0, 0.04},
    {"fc.bias", "fc.bias", 1, {10}, 0, 0.01},
};
enum { LAYERS = sizeof network / sizeof network[0], BAD_LAYER = 5, BAD_CHANNEL = 3 };

/* xorshift64*: the same values on every machine. */
static double uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 0x2545F4914F6CDD1DU) >> 11) / 9007199254740992.0;
}

static size_t count_of(const struct layer *layer)
{
    size_t count = 1;
    for (int i = 0; i < layer->rank; i++)
        count *= (size_t)layer->shape[i];
    return count;
}

static float *random_values(const struct layer *layer, uint64_t *state)
{
    const size_t count = count_of(layer);
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; values && i < count; i++) {
        double sum = 0; /* four uniform numbers are normal enough for a demonstration */
        for (int k = 0; k < 4; k++)
            sum += uniform(state) - 0.5;
        values[i] = (float)(layer->centre + layer->spread * sum);
    }
    return values;
}

static bool save(const char *path, struct plumb_value *values, bool mindspore)
{
    struct plumb_error err = {0};
    for (int i = 0; i < LAYERS; i++)
        values[i].name = mindspore ? network[i].mindspore : network[i].pytorch;
    if (plumb_write_file(path, NULL, values, LAYERS, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: make_checkpoints OUT.pth OUT.ckpt\n");
        return 2;
    }
    float *data[LAYERS];
    struct plumb_value values[LAYERS];
    uint64_t state = 20240607;
    for (int i = 0; i < LAYERS; i++) {
        data[i] = random_values(&network[i], &state);
        if (!data[i])
            return 2;
        values[i] = (struct plumb_value){
            .dtype = PLUMB_F32,
            .rank = network[i].rank,
            .shape = network[i].shape,
            .data = data[i],
        };
    }
    bool good = save(argv[1], values, false);
    const size_t channel = count_of(&network[BAD_LAYER]) / (size_t)network[BAD_LAYER].shape[0];
    for (size_t i = 0; i < channel; i++)
        data[BAD_LAYER][BAD_CHANNEL * channel + i] *= 1.02F;
    good = good && save(argv[2], values, true);
    for (int i = 0; i < LAYERS; i++)
        free(data[i]);
    return good ? 0 : 2;
}
