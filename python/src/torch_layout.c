/* torch_layout.c - see torch_layout.h. */
#include "torch_layout.h"

#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    WORDS = 64,       /* of a record that are searched: 512 bytes */
    OBJECT_WORDS = 6, /* of a Python tensor, one of which points to its implementation */
    LIST_WORDS = 16,
};

/* A field is a bit in each mask; what every look leaves set is where it lies. */
static struct {
    const struct plumb_torch_symbols *symbols;
    pthread_t thread;
    uint64_t handle;
    int stage; /* -1: not looking */
    int64_t sequence;
    uint64_t one[OBJECT_WORDS], two[OBJECT_WORDS];
    uint64_t inputs, outputs, sequences, lists;
    int looks[4]; /* inputs, outputs, sequence, list */
    uint32_t list_tag;
} search;

static bool read_memory(uint64_t from, void *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static bool is_tensor(uint64_t value_at, const uint64_t *object)
{
    struct plumb_torch_value value;
    if (!read_memory(value_at, &value, sizeof value) || value.tag != PLUMB_TORCH_TENSOR)
        return false;
    for (int i = 2; i < OBJECT_WORDS; i++) /* after the reference count and the type */
        if (object[i] && object[i] == (uint64_t)(uintptr_t)value.payload)
            return true;
    return false;
}

static bool is_vector(const uint64_t *word, uint64_t bytes)
{
    return word[0] && word[1] - word[0] == bytes && word[2] >= word[1] &&
           word[2] - word[0] < 4096;
}

static void narrow(uint64_t *mask, int *looks, uint64_t found)
{
    *mask = *looks ? *mask & found : found;
    ++*looks;
}

static void look_for_list(uint64_t value_at)
{
    struct plumb_torch_value value;
    uint64_t word[LIST_WORDS], found = 0;
    if (!read_memory(value_at, &value, sizeof value) || value.tag == PLUMB_TORCH_TENSOR ||
        !read_memory((uint64_t)(uintptr_t)value.payload, word, sizeof word))
        return;
    for (int i = 0; i + 2 < LIST_WORDS; i++)
        if (is_vector(word + i, 2 * sizeof value) && is_tensor(word[i], search.one) &&
            is_tensor(word[i] + sizeof value, search.two))
            found |= UINT64_C(1) << i;
    search.list_tag = value.tag;
    narrow(&search.lists, &search.looks[3], found);
}

static void *look_at_start(void *result, const struct plumb_torch_record *record)
{
    uint64_t word[WORDS], inputs = 0, sequences = 0;
    *(void **)result = NULL;
    if (search.stage < 0 || !pthread_equal(search.thread, pthread_self()) ||
        !read_memory((uint64_t)(uintptr_t)record, word, sizeof word))
        return result;
    const char *name = search.symbols->name(record);
    if (search.stage == 0 && strcmp(name, "aten::add_") == 0) {
        for (int i = 0; i + 1 < WORDS; i++)
            if (word[i] && word[i + 1] > 0 && word[i + 1] < 8 && is_tensor(word[i], search.one))
                inputs |= UINT64_C(1) << i;
        narrow(&search.inputs, &search.looks[0], inputs);
    } else if (search.stage == 1 && strcmp(name, "aten::_foreach_neg") == 0) {
        for (int i = 0; i < WORDS; i++)
            if (search.inputs == UINT64_C(1) << i)
                look_for_list(word[i]);
    } else if (search.stage == 2 && strcmp(name, "aten::mul") == 0) {
        for (int i = 0; i < WORDS; i++)
            if ((int64_t)word[i] == search.sequence)
                sequences |= UINT64_C(1) << i;
        narrow(&search.sequences, &search.looks[2], sequences);
    }
    return result;
}

static void look_at_end(const struct plumb_torch_record *record, void *context)
{
    uint64_t word[WORDS], outputs = 0;
    (void)context;
    if (search.stage != 0 || !pthread_equal(search.thread, pthread_self()) ||
        strcmp(search.symbols->name(record), "aten::add_") != 0 ||
        !read_memory((uint64_t)(uintptr_t)record, word, sizeof word))
        return;
    for (int i = 0; i + 2 < WORDS; i++)
        if (is_vector(word + i, sizeof(struct plumb_torch_value)) &&
            is_tensor(word[i], search.one))
            outputs |= UINT64_C(1) << i;
    narrow(&search.outputs, &search.looks[1], outputs);
}

bool plumb_torch_layout_begin(const struct plumb_torch_symbols *symbols, const void *one,
                              const void *two)
{
    memset(&search, 0, sizeof search);
    search.symbols = symbols;
    search.thread = pthread_self();
    search.stage = -1;
    memcpy(search.one, one, sizeof search.one);
    memcpy(search.two, two, sizeof search.two);
    const struct plumb_torch_callback callback = {.start = look_at_start,
                                                  .end = look_at_end,
                                                  .probability = 1,
                                                  .scopes = {[PLUMB_TORCH_SCOPE_FUNCTION] = 1},
                                                  .needs_inputs = true,
                                                  .needs_outputs = true};
    search.handle = symbols->add_callback(callback);
    return search.handle != 0;
}

void plumb_torch_layout_expect(int stage, int64_t sequence)
{
    search.stage = stage;
    search.sequence = sequence;
}

/* The offset, if there is exactly one after two looks. */
static bool settle(uint64_t mask, int looks, size_t *offset)
{
    if (looks < 2 || mask == 0 || (mask & (mask - 1)))
        return false;
    *offset = (size_t)__builtin_ctzll(mask) * sizeof(uint64_t);
    return true;
}

const char *plumb_torch_layout_finish(struct plumb_torch_layout *layout)
{
    search.stage = -1;
    search.symbols->remove_callback(search.handle);
    *layout = (struct plumb_torch_layout){.list_tag = search.list_tag};
    if (!settle(search.inputs, search.looks[0], &layout->inputs))
        return "the inputs of a recorded operator";
    if (!settle(search.outputs, search.looks[1], &layout->outputs))
        return "the outputs of a recorded operator";
    if (!settle(search.lists, search.looks[3], &layout->list_values))
        return "the tensors of a list";
    if (!settle(search.sequences, search.looks[2], &layout->sequence))
        layout->sequence = 0; /* ops of backward then have no module */
    return NULL;
}

struct plumb_torch_values plumb_torch_inputs(const struct plumb_torch_layout *layout,
                                             const struct plumb_torch_record *record)
{
    struct plumb_torch_values values;
    memcpy(&values, (const char *)record + layout->inputs, sizeof values);
    return values;
}

static struct plumb_torch_values vector_at(const char *at)
{
    const struct plumb_torch_value *bounds[2];
    memcpy(bounds, at, sizeof bounds);
    return (struct plumb_torch_values){bounds[0], (size_t)(bounds[1] - bounds[0])};
}

struct plumb_torch_values plumb_torch_outputs(const struct plumb_torch_layout *layout,
                                              const struct plumb_torch_record *record)
{
    return vector_at((const char *)record + layout->outputs);
}

struct plumb_torch_values plumb_torch_list(const struct plumb_torch_layout *layout,
                                           const struct plumb_torch_value *value)
{
    if (value->tag != layout->list_tag || !value->payload)
        return (struct plumb_torch_values){NULL, 0};
    return vector_at((const char *)value->payload + layout->list_values);
}

int64_t plumb_torch_sequence(const struct plumb_torch_layout *layout,
                             const struct plumb_torch_record *record)
{
    int64_t sequence = -1;
    if (layout->sequence)
        memcpy(&sequence, (const char *)record + layout->sequence, sizeof sequence);
    return sequence;
}
