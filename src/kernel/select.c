/* select.c - which kernels this process uses, decided once. */
#include "kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Last distance of each bucket but the last: 0, 1, 2, 3-4, 5-16, 17-256, 257-65536. */
const uint64_t plumb_ulp_limits[PLUMB_ULP_LIMITS] = {0, 1, 2, 4, 16, 256, 65536};

static const struct plumb_kernel *chosen;
static pthread_once_t choosing = PTHREAD_ONCE_INIT;

static void choose(void)
{
    const char *wanted = getenv("PLUMB_CPU");
    const struct plumb_kernel *avx2 = plumb_kernel_avx2();
    chosen = avx2 && !(wanted && strcmp(wanted, "scalar") == 0) ? avx2 : plumb_kernel_scalar();
}

const struct plumb_kernel *plumb_kernel(void)
{
    pthread_once(&choosing, choose);
    return chosen;
}

const char *plumb_cpu(void)
{
    return plumb_kernel()->name;
}

bool plumb_kernel_is_direct(enum plumb_dtype dtype)
{
    return dtype <= PLUMB_BF16;
}
