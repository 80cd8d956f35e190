/*
 * make_fixtures.c - the input files of the golden and damage tests, the same on every machine.
 *     make_fixtures FOLDER
 * One network as five formats (its MindSpore form with that framework's names), pairs of arrays
 * with one known difference each, every dtype in every format that has it (small/), and damaged
 * files.
 */
#include <plumb.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *folder;

static void stop(const char *why, const char *about)
{
    fprintf(stderr, "make_fixtures: %s: %s\n", about, why);
    exit(2);
}

static const char *in_folder(const char *name)
{
    static char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void save(const char *name, const struct plumb_value *values, size_t count)
{
    struct plumb_error err = {0};
    if (plumb_write_file(in_folder(name), NULL, values, count, &err))
        stop(err.message, name);
}

static void save_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *out = fopen(in_folder(name), "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out) != 0)
        stop(strerror(errno), name);
}

static uint64_t random_state = 1;

static double uniform(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)((random_state * 0x2545F4914F6CDD1DU) >> 11) / 9007199254740992.0;
}

/* Roughly normal with the given spread. */
static void fill(float *values, size_t count, double spread)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(spread * (uniform() + uniform() + uniform() + uniform() - 2.0));
}

/* ---- the network ---------------------------------------------------------------------- */

struct part {
    const char *pytorch, *mindspore;
    int rank;
    int64_t shape[4];
    size_t count;
};

static const struct part network[] = {
    {"conv.weight", "conv.weight", 4, {8, 3, 3, 3}, 216},
    {"conv.bias", "conv.bias", 1, {8}, 8},
    {"bn.weight", "bn.gamma", 1, {8}, 8},
    {"bn.bias", "bn.beta", 1, {8}, 8},
    {"bn.running_mean", "bn.moving_mean", 1, {8}, 8},
    {"bn.running_var", "bn.moving_variance", 1, {8}, 8},
    {"embed.weight", "embed.embedding_table", 2, {20, 16}, 320},
    {"fc.weight", "fc.weight", 2, {10, 128}, 1280},
    {"fc.bias", "fc.bias", 1, {10}, 10},
};
enum { PARTS = sizeof network / sizeof network[0], FC = 7 };

static float weights[PARTS][1280];

static void save_network(const char *name, bool mindspore)
{
    struct plumb_value values[PARTS];
    for (int i = 0; i < PARTS; i++)
        values[i] = (struct plumb_value){
            .name = mindspore ? network[i].mindspore : network[i].pytorch,
            .dtype = PLUMB_F32,
            .rank = network[i].rank,
            .shape = network[i].shape,
            .data = weights[i],
        };
    save(name, values, PARTS);
}

static void make_networks(void)
{
    for (int i = 0; i < PARTS; i++)
        fill(weights[i], network[i].count, 0.1);
    save_network("net.pth", false);
    save_network("net.npz", false);
    save_network("net.safetensors", false);
    save_network("net.ckpt", true);
    for (size_t i = 0; i < 128; i++)
        weights[FC][5 * 128 + i] = 0; /* one row lost */
    save_network("bad.ckpt", true);
}

/* ---- pairs of arrays ------------------------------------------------------------------ */

enum { ROWS = 64, COLUMNS = 96, CELLS = ROWS * COLUMNS };

static void save_matrix(const char *name, enum plumb_dtype dtype, const void *data)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    const struct plumb_value value = {
        .name = "data", .dtype = dtype, .rank = 2, .shape = shape, .data = data};
    save(name, &value, 1);
}

static void make_pairs(void)
{
    static float a[CELLS], b[CELLS];
    static uint16_t half[CELLS];
    fill(a, CELLS, 1);
    save_matrix("a.npy", PLUMB_F32, a);
    if (plumb_convert_values(PLUMB_F32, a, PLUMB_F16, half, CELLS, PLUMB_ROUND_NEAREST_EVEN,
                             NULL))
        stop("conversion failed", "half.npy");
    save_matrix("half.npy", PLUMB_F16, half);
    for (size_t i = 0; i < CELLS; i++)
        b[i] = a[i] * 1.5F;
    save_matrix("scaled.npy", PLUMB_F32, b);
    memcpy(b, a, sizeof b);
    b[1234] = NAN;
    b[1235] = INFINITY;
    save_matrix("nonfinite.npy", PLUMB_F32, b);
    fill(b, CELLS, 1);
    save_matrix("other.npy", PLUMB_F32, b);
}

/* ---- every dtype, for damage ---------------------------------------------------------- */

static void make_small(void)
{
    static const char *const formats[] = {"npz", "pth", "ckpt", "safetensors"};
    static const int64_t shape[] = {2, 2};
    static const unsigned char bytes[64] = {1, 0, 1, 0, 0, 60, 0, 60, 1, 1};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        struct plumb_value values[PLUMB_DTYPE_COUNT + 1];
        size_t count = 0;
        char name[64];
        (void)snprintf(name, sizeof name, "small/all.%s", formats[f]);
        for (int dtype = 0; dtype < PLUMB_DTYPE_COUNT; dtype++) {
            const struct plumb_value value = {.name = plumb_dtype_name((enum plumb_dtype)dtype),
                                              .dtype = (enum plumb_dtype)dtype,
                                              .rank = 2,
                                              .shape = shape,
                                              .data = bytes};
            /* Not every format has every dtype: keep what it takes. */
            if (plumb_write_file(in_folder(name), NULL, &value, 1, NULL) == PLUMB_OK)
                values[count++] = value;
        }
        values[count++] = (struct plumb_value){
            .name = "scalar", .dtype = PLUMB_F32, .rank = 0, .shape = shape, .data = bytes};
        save(name, values, count);
    }
    const struct plumb_value scalar = {
        .name = "data", .dtype = PLUMB_F64, .rank = 0, .shape = shape, .data = bytes};
    save("small/scalar.npy", &scalar, 1);
}

/* ---- damaged files -------------------------------------------------------------------- */

static void make_damaged(void)
{
    static unsigned char bytes[1 << 17];
    FILE *in = fopen(in_folder("net.pth"), "rb");
    if (!in)
        stop(strerror(errno), "net.pth");
    const size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    save_bytes("cut.pth", bytes, size - 300);
    in = fopen(in_folder("a.npy"), "rb");
    if (!in)
        stop(strerror(errno), "a.npy");
    (void)!fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    save_bytes("cut.npy", bytes, 1000);
    save_bytes("empty.bin", bytes, 0);
    static const char text[] = "This is not a tensor file.\n";
    save_bytes("notes.txt", text, sizeof text - 1);
    static const char map[] =
        "# PyTorch name, MindSpore name\nfc.weight fc.weight\nfc.bias fc.bias\n";
    save_bytes("map.txt", map, sizeof map - 1);
    static const char evil[] = "\x80\x02"
                               "cos\nsystem\nq\x01X\x0e\x00\x00\x00touch executedq\x02"
                               "\x85q\x03Rq\x04.";
    save_bytes("evil.pt", evil, sizeof evil - 1);
}

/* ---- a recorded run --------------------------------------------------------------------- */

/* Three layers, four steps; at step 2 the second layer divides by `divisor`. */
static void make_run(const char *name, float divisor)
{
    static const int64_t shape[] = {2, 3};
    static const char *const layers[] = {"layers.0", "layers.1", "layers.2"};
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", in_folder(name));
    const struct plumb_recorder_options options = {
        .path = path, .framework = "toy", .command_line = "toy --steps 4", .no_thread = true};
    if (plumb_recorder_open(&options, &recorder, &error))
        stop(error.message, name);
    plumb_record_config(recorder, "optimizer", "\"sgd\"");
    plumb_record_config(recorder, "lr", "0.1");
    for (int64_t step = 0; step < 4; step++) {
        float values[6] = {1, 2, 3, 4, 5, 6};
        plumb_record_step_begin(recorder, step);
        for (int i = 0; i < 3; i++) {
            plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, layers[i], "div",
                               PLUMB_CALL_COUNTED);
            plumb_record_tensor(recorder, "input0", PLUMB_F32, 2, shape, values);
            for (int k = 0; k < 6; k++)
                values[k] /= step >= 2 && i == 1 && k == 4 ? divisor : 2.0F;
            plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
            plumb_record_leave(recorder);
        }
        plumb_record_series(recorder, "loss", step, (double)values[4]);
        plumb_record_series(recorder, "lr", step, 0.1);
        plumb_record_counter(recorder, "queue", 100 * step, (double)step);
        plumb_record_step_end(recorder);
    }
    if (plumb_recorder_close(recorder, NULL, &error))
        stop(error.message, name);
}

/* One step with its values, of types that numpy has and one that it has not. */
static void make_saved_run(void)
{
    static const int64_t shape[] = {2, 3};
    static const float matrix[] = {0.5F, -1.5F, 2, -0.25F, 8, 0};
    static const float product[] = {1, -3, INFINITY, -0.5F, 16, 0};
    static const int64_t labels[] = {3, 1, 4, 1, 5, INT64_MAX};
    uint16_t half[6];
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", in_folder("saved"));
    const struct plumb_recorder_options options = {
        .path = path, .framework = "toy", .no_thread = true, .save = PLUMB_SAVE_TENSORS};
    if (plumb_recorder_open(&options, &recorder, &error) ||
        plumb_convert_values(PLUMB_F32, matrix, PLUMB_BF16, half, 6, PLUMB_ROUND_NEAREST_EVEN,
                             &error))
        stop(error.message, "saved");
    plumb_record_step_begin(recorder, 7);
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "head", "linear", PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "param:weight", PLUMB_BF16, 2, shape, half);
    plumb_record_tensor(recorder, "labels", PLUMB_I64, 2, shape, labels);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, product);
    plumb_record_leave(recorder);
    plumb_record_step_end(recorder);
    if (plumb_recorder_close(recorder, NULL, &error))
        stop(error.message, "saved");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_fixtures FOLDER\n");
        return 2;
    }
    folder = argv[1];
    (void)mkdir(folder, 0777);
    (void)mkdir(in_folder("small"), 0777);
    make_networks();
    make_pairs();
    make_small();
    make_damaged();
    make_run("run", 0);
    make_run("run-well", 2);
    make_saved_run();
    return 0;
}
