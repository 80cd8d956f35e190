/* kernel_avx2.c - placeholder */
#include "kernel.h"
const struct plumb_kernel *plumb_kernel_avx2(void)
{
    return NULL;
}
