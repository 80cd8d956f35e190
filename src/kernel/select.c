/* select.c - which kernels this process uses, decided once. */
#include "kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Last distance of each bucket but the last: 0, 1, 2, 3-4, 5-16, 17-256, 257-65536. */
const uint64_t plumb_ulp_limits[PLUMB_ULP_LIMITS] = {0, 1, 2, 4, 16, 256, 65536};

static _Atomic(const struct plumb_kernel *) chosen;
static pthread_once_t choosing = PTHREAD_ONCE_INIT;

static void choose(void)
{
    const char *wanted = getenv("PLUMB_CPU");
    const struct plumb_kernel *const kernels[] = {plumb_kernel_avx512(), plumb_kernel_avx2(),
                                                  plumb_kernel_scalar()};
    const struct plumb_kernel *best = NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (kernels[i] && wanted && strcmp(wanted, kernels[i]->name) == 0)
            best = kernels[i];
        else if (kernels[i] && !best)
            best = kernels[i];
    }
    atomic_store_explicit(&chosen, best, memory_order_release);
}

const struct plumb_kernel *plumb_kernel(void)
{
    const struct plumb_kernel *kernel = atomic_load_explicit(&chosen, memory_order_acquire);
    if (kernel) /* asked for every block: this is quicker than pthread_once */
        return kernel;
    pthread_once(&choosing, choose);
    return atomic_load_explicit(&chosen, memory_order_acquire);
}

const char *plumb_cpu(void)
{
    return plumb_kernel()->name;
}

bool plumb_kernel_is_direct(enum plumb_dtype dtype)
{
    return dtype <= PLUMB_BF16;
}
