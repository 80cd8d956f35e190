/*
 * kernels.c - GB/s of each kernel on data that lies in the L2 cache, scalar beside AVX2 and AVX-512.
 *
 * The kernels are chosen once per process, so each variant runs in a child of its own. The
 * figure is the best of many short runs: what the code can do, not what the machine happens
 * to be busy with. Both inputs of a comparison count.
 */
#include <plumb.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 128 << 10, RUNS = 60, VARIANTS = 3 };

enum kind { STATS, FINGERPRINT, BOTH, COMPARE, COMPARE_EQUAL, COMPARE_MIXED, CONVERT };

static const struct {
    const char *name;
    enum kind kind;
    enum plumb_dtype dtype, other;
} cases[] = {
    {"stats f32", STATS, PLUMB_F32, PLUMB_F32},
    {"stats bf16", STATS, PLUMB_BF16, PLUMB_BF16},
    {"stats f16", STATS, PLUMB_F16, PLUMB_F16},
    {"stats f64", STATS, PLUMB_F64, PLUMB_F64},
    {"stats f8e4m3", STATS, PLUMB_F8E4M3, PLUMB_F8E4M3},
    {"stats i64", STATS, PLUMB_I64, PLUMB_I64},
    {"fingerprint", FINGERPRINT, PLUMB_F32, PLUMB_F32},
    {"as recorded, f32", BOTH, PLUMB_F32, PLUMB_F32},
    {"compare f32", COMPARE, PLUMB_F32, PLUMB_F32},
    {"compare bf16", COMPARE, PLUMB_BF16, PLUMB_BF16},
    {"compare f16", COMPARE, PLUMB_F16, PLUMB_F16},
    {"compare f64", COMPARE, PLUMB_F64, PLUMB_F64},
    {"compare f8e4m3", COMPARE, PLUMB_F8E4M3, PLUMB_F8E4M3},
    {"compare i64", COMPARE, PLUMB_I64, PLUMB_I64},
    {"compare f32, equal", COMPARE_EQUAL, PLUMB_F32, PLUMB_F32},
    {"compare bf16, equal", COMPARE_EQUAL, PLUMB_BF16, PLUMB_BF16},
    {"compare f32 with bf16", COMPARE_MIXED, PLUMB_F32, PLUMB_BF16},
    {"convert f32 to bf16", CONVERT, PLUMB_F32, PLUMB_BF16},
    {"convert f32 to f16", CONVERT, PLUMB_F32, PLUMB_F16},
    {"convert f16 to f32", CONVERT, PLUMB_F16, PLUMB_F32},
};
enum { CASES = sizeof cases / sizeof *cases };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Weights of a layer, and the same with noise of a few units in the last place. */
static void fill(enum plumb_dtype dtype, void *to, size_t count, uint64_t seed, double noise)
{
    const size_t size = plumb_dtype_size(dtype);
    uint64_t weight = 88172645463325252U, change = seed;
    for (size_t i = 0; i < count; i++) {
        weight = weight * 6364136223846793005U + 1442695040888963407U;
        change = change * 6364136223846793005U + 1442695040888963407U;
        double value = ((double)(weight >> 11) * 0x1p-52 - 1) * 100;
        value *= 1 + noise * ((double)(change >> 11) * 0x1p-52 - 1);
        (void)plumb_convert_values(PLUMB_F64, &value, dtype, (char *)to + i * size, 1,
                                   PLUMB_ROUND_NEAREST_EVEN, NULL);
    }
}

static size_t run_once(size_t which, const void *a, const void *b, void *out)
{
    const enum plumb_dtype dtype = cases[which].dtype, other = cases[which].other;
    const size_t count = BYTES / plumb_dtype_size(dtype);
    struct plumb_stats stats;
    struct plumb_known known;
    struct plumb_comparison comparison;
    switch (cases[which].kind) {
    case STATS:
        plumb_values_stats(dtype, a, count, &stats);
        return BYTES;
    case FINGERPRINT:
        *(volatile uint64_t *)out = plumb_values_fingerprint(dtype, a, count);
        return BYTES;
    case BOTH:
        plumb_known_of(dtype, a, count, true, &known);
        return BYTES;
    case COMPARE:
    case COMPARE_EQUAL:
        plumb_values_compare(dtype, a, dtype, b, count, 0, 0, &comparison);
        return 2 * BYTES;
    case COMPARE_MIXED:
        plumb_values_compare(dtype, a, other, b, count, 0, 0, &comparison);
        return BYTES + count * plumb_dtype_size(other);
    case CONVERT:
        (void)plumb_convert_values(dtype, a, other, out, count, PLUMB_ROUND_NEAREST_EVEN, NULL);
        return BYTES;
    }
    return 0;
}

static double measure(size_t which, void *a, void *b, void *out)
{
    const enum plumb_dtype dtype = cases[which].dtype, other = cases[which].other;
    const size_t count = BYTES / plumb_dtype_size(dtype);
    const double noise = cases[which].kind == COMPARE_EQUAL ? 0 : 1e-4;
    double best = 1e9;
    size_t bytes = 0;
    fill(dtype, a, count, 1, 0);
    fill(cases[which].kind == COMPARE_MIXED ? other : dtype, b, count, 2, noise);
    for (int run = 0; run < RUNS; run++) {
        const double start = now();
        for (int i = 0; i < 4; i++)
            bytes = run_once(which, a, b, out);
        const double took = (now() - start) / 4;
        best = took < best ? took : best;
    }
    return (double)bytes / best * 1e-9;
}

static int run_variant(const char *variant, double *speeds)
{
    void *a = malloc(BYTES), *b = malloc(BYTES), *out = malloc(2 * BYTES);
    setenv("PLUMB_CPU", variant, 1);
    if (!a || !b || !out || strcmp(plumb_cpu(), variant) != 0)
        return 1;
    for (size_t i = 0; i < CASES; i++)
        speeds[i] = measure(i, a, b, out);
    free(a);
    free(b);
    free(out);
    return 0;
}

int main(void)
{
    static const char *const variants[VARIANTS] = {"scalar", "avx2", "avx512"};
    double *speeds = mmap(NULL, VARIANTS * CASES * sizeof *speeds, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (speeds == MAP_FAILED)
        return 2;
    for (int v = 0; v < VARIANTS; v++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(run_variant(variants[v], speeds + v * CASES));
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
            printf("%s: not available on this machine\n", variants[v]);
    }
    printf("%-24s %8s %8s %8s   GB/s, one thread, in L2\n", "", variants[0], variants[1],
           variants[2]);
    for (size_t i = 0; i < CASES; i++)
        printf("%-24s %8.2f %8.2f %8.2f\n", cases[i].name, speeds[i], speeds[CASES + i],
               speeds[2 * CASES + i]);
    return 0;
}
