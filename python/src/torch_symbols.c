/* torch_symbols.c - see torch_symbols.h. */
#include "torch_symbols.h"

#include <dlfcn.h>
#include <string.h>

struct wanted {
    const char *library, *name;
    size_t field; /* where in the structure that is filled */
};

static const char cpu[] = "libtorch_cpu.so", core[] = "libc10.so";

static const struct wanted table[] = {
    {cpu, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE",
     offsetof(struct plumb_torch_symbols, add_callback)},
    {cpu, "_ZN2at14removeCallbackEm", offsetof(struct plumb_torch_symbols, remove_callback)},
    {cpu, "_ZNK2at14RecordFunction4nameEv", offsetof(struct plumb_torch_symbols, name)},
    {cpu, "_ZNK2at14RecordFunction13overload_nameEv",
     offsetof(struct plumb_torch_symbols, overload)},
    {cpu, "_ZN2at18in_parallel_regionEv", offsetof(struct plumb_torch_symbols, in_parallel)},
    {core, "_ZN3c104impl20TorchDispatchModeTLS13any_modes_setEb",
     offsetof(struct plumb_torch_symbols, modes_set)},
    {cpu, "aoti_torch_is_defined", offsetof(struct plumb_torch_symbols, is_defined)},
    {cpu, "aoti_torch_get_layout", offsetof(struct plumb_torch_symbols, layout)},
    {cpu, "aoti_torch_get_device_type", offsetof(struct plumb_torch_symbols, device)},
    {cpu, "aoti_torch_get_dtype", offsetof(struct plumb_torch_symbols, dtype)},
    {cpu, "aoti_torch_get_numel", offsetof(struct plumb_torch_symbols, count)},
    {cpu, "aoti_torch_get_dim", offsetof(struct plumb_torch_symbols, rank)},
    {cpu, "aoti_torch_get_sizes", offsetof(struct plumb_torch_symbols, shape)},
    {cpu, "aoti_torch_get_strides", offsetof(struct plumb_torch_symbols, strides)},
    {cpu, "aoti_torch_get_storage_offset", offsetof(struct plumb_torch_symbols, offset)},
    {cpu, "aoti_torch_get_data_ptr", offsetof(struct plumb_torch_symbols, data)},
};

/* Without these it is slower. */
static const struct wanted welcome[] = {
    {cpu, "_ZN2at20enableRecordFunctionEb",
     offsetof(struct plumb_torch_symbols, enable_records)},
    {cpu, "_ZN5torch8profiler4impl15profilerEnabledEv",
     offsetof(struct plumb_torch_symbols, profiler_runs)},
    {cpu, "_ZN2at9functorch20getDynamicLayerStackEv",
     offsetof(struct plumb_torch_symbols, transforms)},
    {cpu, "_ZN2at24get_record_function_tls_Ev",
     offsetof(struct plumb_torch_symbols, thread_callbacks)},
};

static const struct wanted threads[] = {
    {cpu, "_ZN2at15get_num_threadsEv", offsetof(struct plumb_torch_threads, count)},
    {cpu, "_ZN2at18in_parallel_regionEv", offsetof(struct plumb_torch_threads, in_parallel)},
    {cpu, "GOMP_parallel", offsetof(struct plumb_torch_threads, parallel)},
    {cpu, "omp_get_thread_num", offsetof(struct plumb_torch_threads, number)},
    {cpu, "omp_get_num_threads", offsetof(struct plumb_torch_threads, team_size)},
};

static const struct wanted graphs[] = {
    {cpu, "_ZN5torch8autograd25get_current_graph_task_idEv",
     offsetof(struct plumb_torch_graph, task)},
    {cpu, "_ZN2at15sequence_number4peekEv", offsetof(struct plumb_torch_graph, next_number)},
};

static bool find(const struct wanted *wanted, void *symbols)
{
    /* Already in the process: torch was imported. The handle is kept for good. */
    void *library = dlopen(wanted->library, RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, wanted->name) : NULL;
    memcpy((char *)symbols + wanted->field, &found, sizeof found);
    return found != NULL;
}

void plumb_torch_graph_load(struct plumb_torch_graph *graph)
{
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        (void)find(&graphs[i], graph);
}

bool plumb_torch_threads_load(struct plumb_torch_threads *found)
{
    bool all = true;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        all = find(&threads[i], found) && all;
    return all;
}

const char *plumb_torch_symbols_load(struct plumb_torch_symbols *symbols)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!find(&table[i], symbols))
            return table[i].name;
    for (size_t i = 0; i < sizeof welcome / sizeof *welcome; i++)
        (void)find(&welcome[i], symbols);
    return NULL;
}
