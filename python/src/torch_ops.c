/*
 * torch_ops.c - the fast route: every operator through torch's own record callbacks.
 *
 * The callbacks run in whatever thread the operator runs in, without the GIL. Of nested operators the outermost
 * that is not made of others is recorded: that is what a dispatch mode would see.
 */
#include "torch_ops.h"

#include "call_stacks.h"
#include "seen_values.h"
#include "torch_layout.h"
#include "torch_modules.h"
#include "torch_silence.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEEPEST = 256,
    MOST_WRITTEN = 1 << 16,
    DRAIN_MS = 1000, /* how long to wait for operators that still run in other threads */
};

enum frame { FRAME_OTHER, FRAME_OPERATOR, FRAME_ENGINE };

struct node {
    struct plumb_maker maker;
    int modules; /* how deep forward was when the node began */
};

struct thread {
    unsigned generation; /* of the callbacks that counted the rest */
    int depth, operators, engines, nodes;
    unsigned char frames[DEEPEST];
    struct node node[DEEPEST];
    /* What made the node that ended last, for what the engine does with its result. */
    struct plumb_maker left;
    struct plumb_op_call call;
    int inner; /* operators inside of the running one */
    struct plumb_silence silence;
    void **written; /* tensors that the running operator changes */
    size_t written_count, written_room;
};

static struct plumb_torch_symbols torch;
static struct plumb_torch_layout layout;
static _Atomic unsigned generation; /* odd: recording */
static atomic_int busy;             /* callbacks that run */
static atomic_bool wrappers;        /* there are tensors that wrap others */
static uint64_t handles[2];
static _Thread_local struct thread *self;
static _Thread_local int muted;
static _Thread_local bool in_optimizer;
static _Thread_local uint32_t optimizer_stack;
static pthread_key_t ending;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

/* ---- threads -------------------------------------------------------------------------------- */

static void forget_thread(void *memory)
{
    struct thread *thread = memory;
    free(thread->written);
    free(thread);
}

static void prepare(void)
{
    (void)pthread_key_create(&ending, forget_thread);
}

/* NULL: no memory, or not recording. */
static struct thread *enter_thread(void)
{
    const unsigned now = atomic_load_explicit(&generation, memory_order_acquire);
    if (!(now & 1) || muted)
        return NULL;
    if (!self) {
        self = calloc(1, sizeof *self);
        if (!self)
            return NULL;
        (void)pthread_setspecific(ending, self);
    }
    if (self->generation != now) {
        self->generation = now;
        self->depth = self->operators = self->engines = self->nodes = 0;
    }
    return self;
}

/* The thread of a record whose start was counted by these callbacks. */
static struct thread *same_thread(void)
{
    const unsigned now = atomic_load_explicit(&generation, memory_order_acquire);
    return (now & 1) && !muted && self && self->generation == now ? self : NULL;
}

void plumb_torch_ops_mute(int more)
{
    muted += more;
}

void plumb_torch_ops_phase(bool optimizer)
{
    in_optimizer = optimizer;
    plumb_seen_lasts(optimizer);
    optimizer_stack = optimizer ? plumb_call_stack(0) : 0;
}

bool plumb_torch_ops_in_optimizer(void)
{
    return in_optimizer;
}

uint32_t plumb_torch_ops_optimizer_stack(void)
{
    return optimizer_stack;
}

/* ---- operators ------------------------------------------------------------------------------ */

/* Fake tensors, functionalization, tracing: what runs then is not the training. */
static bool is_tracing(void)
{
    return torch.modes_set(false) && !torch.modes_set(true);
}

static struct plumb_op_context find_context(const struct thread *thread,
                                            const struct plumb_op *op, int64_t sequence)
{
    const struct plumb_module_state modules = plumb_module_current();
    struct plumb_op_context context = {
        .module = modules.now.module,
        .stack = in_optimizer ? optimizer_stack : modules.now.stack,
        .phase = in_optimizer ? PLUMB_PHASE_OPTIMIZER : PLUMB_PHASE_FORWARD};
    if (thread->engines || thread->nodes) {
        const int last = thread->nodes < DEEPEST ? thread->nodes : DEEPEST;
        const struct node *node = last ? &thread->node[last - 1] : NULL;
        context.phase = PLUMB_PHASE_BACKWARD;
        /* Modules that are entered while a node runs repeat their forward pass. */
        context.recomputed = node && sequence >= 0 && modules.depth > node->modules;
        const struct plumb_maker maker = node ? node->maker : thread->left;
        if (!context.recomputed) {
            context.module = maker.module;
            context.stack = maker.stack;
        }
    }
    if (op->flags & PLUMB_OP_COLLECTIVE)
        context.phase = PLUMB_PHASE_COLLECTIVE;
    return context;
}

static void keep_written(struct thread *thread, void *tensor)
{
    if (thread->written_count == thread->written_room) {
        const size_t more = thread->written_room ? 2 * thread->written_room : 64;
        void *larger =
            more <= MOST_WRITTEN ? realloc(thread->written, more * sizeof tensor) : NULL;
        if (!larger)
            return;
        thread->written = larger;
        thread->written_room = more;
    }
    thread->written[thread->written_count++] = tensor;
}

static void take_input(struct thread *thread, const struct plumb_torch_value *value,
                       bool written)
{
    struct plumb_op_tensor tensor;
    if (value->tag != PLUMB_TORCH_TENSOR)
        return;
    if (written)
        keep_written(thread, value->payload);
    if (!thread->call.recorded || (written && (thread->call.op->flags & PLUMB_OP_OUT)))
        return;
    const enum plumb_op_look look = plumb_op_tensor_of(&torch, value, &tensor);
    if (look == PLUMB_LOOK_READY)
        plumb_op_input(&thread->call, &tensor);
    else
        plumb_op_skip(&thread->call, false, look);
    if (look == PLUMB_LOOK_WRAPPER)
        plumb_torch_ops_expect_wrappers();
}

static struct plumb_torch_values inputs_of(const struct plumb_op *op,
                                           const struct plumb_torch_record *record)
{
    struct plumb_torch_values values = plumb_torch_inputs(&layout, record);
    if (op->arguments >= 0 && values.count > (size_t)op->arguments) {
        values.first +=
            values.count - (size_t)op->arguments; /* the whole stack of a boxed call */
        values.count = (size_t)op->arguments;
    }
    return values;
}

static void take_inputs(struct thread *thread, const struct plumb_torch_record *record)
{
    const struct plumb_op *op = thread->call.op;
    const struct plumb_torch_values values = inputs_of(op, record);
    thread->written_count = 0;
    for (size_t i = 0; i < values.count; i++) {
        const bool written = i < 64 && (op->writes >> i & 1);
        take_input(thread, &values.first[i], written);
        const struct plumb_torch_values list = plumb_torch_list(&layout, &values.first[i]);
        for (size_t k = 0; k < list.count; k++)
            take_input(thread, &list.first[k], written);
    }
}

static bool is_wrapper(const struct plumb_torch_value *value)
{
    struct plumb_op_tensor tensor;
    return value->tag == PLUMB_TORCH_TENSOR &&
           plumb_op_tensor_of(&torch, value, &tensor) == PLUMB_LOOK_WRAPPER;
}

static bool takes_wrapper(const struct plumb_op *op, const struct plumb_torch_record *record)
{
    const struct plumb_torch_values values = inputs_of(op, record);
    for (size_t i = 0; i < values.count; i++) {
        if (is_wrapper(&values.first[i]))
            return true;
        const struct plumb_torch_values list = plumb_torch_list(&layout, &values.first[i]);
        for (size_t k = 0; k < list.count; k++)
            if (is_wrapper(&list.first[k]))
                return true;
    }
    return false;
}

/* Tensors that wrap others, those of torch.func and DTensors: another operator inside of this one gets what they wrap, and is
 * the one to record. */
static bool is_passed_on(const struct plumb_op *op, const struct plumb_torch_record *record)
{
    const void *const *transforms = torch.transforms ? torch.transforms() : NULL;
    if (transforms && transforms[0] != transforms[1])
        return true;
    return atomic_load_explicit(&wrappers, memory_order_relaxed) && !is_tracing() &&
           takes_wrapper(op, record);
}

/* Its node, if it makes one, is of this module whatever is recorded. */
static struct plumb_op_context know_node(const struct thread *thread, const struct plumb_op *op,
                                         const struct plumb_torch_record *record)
{
    const int64_t sequence = plumb_torch_sequence(&layout, record);
    struct plumb_op_context context = find_context(thread, op, sequence);
    if (context.phase == PLUMB_PHASE_FORWARD && plumb_op_is_recorded(op))
        context.stack = plumb_call_stack_anywhere(context.stack);
    if (sequence >= 0 && context.phase == PLUMB_PHASE_FORWARD)
        plumb_module_made(sequence, (struct plumb_maker){context.module, context.stack});
    return context;
}

static void begin_operator(struct thread *thread, struct plumb_op *op,
                           const struct plumb_torch_record *record)
{
    plumb_op_enter(&thread->call, op, know_node(thread, op, record));
    take_inputs(thread, record);
}

static void take_output(struct thread *thread, const struct plumb_torch_value *value)
{
    struct plumb_op_tensor tensor;
    if (value->tag != PLUMB_TORCH_TENSOR)
        return;
    for (size_t i = 0; i < thread->written_count; i++)
        if (thread->written[i] == value->payload)
            thread->written[i] = NULL; /* recorded as what is returned */
    if (thread->call.refused)
        return;
    const enum plumb_op_look look = plumb_op_tensor_of(&torch, value, &tensor);
    if (look == PLUMB_LOOK_READY)
        plumb_op_output(&thread->call, &tensor);
    else
        plumb_op_skip(&thread->call, true, look);
}

static void take_outputs(struct thread *thread, const struct plumb_torch_record *record)
{
    const struct plumb_op *op = thread->call.op;
    struct plumb_torch_values values = plumb_torch_outputs(&layout, record);
    if (op->results >= 0 && values.count > (size_t)op->results) {
        values.first += values.count - (size_t)op->results;
        values.count = (size_t)op->results;
    }
    for (size_t i = 0; i < values.count; i++) {
        take_output(thread, &values.first[i]);
        const struct plumb_torch_values list = plumb_torch_list(&layout, &values.first[i]);
        for (size_t k = 0; k < list.count; k++)
            take_output(thread, &list.first[k]);
    }
    /* What was written and is not returned: the caller still holds it. */
    for (size_t i = 0; i < thread->written_count; i++) {
        const struct plumb_torch_value value = {thread->written[i], PLUMB_TORCH_TENSOR, 0};
        if (value.payload)
            take_output(thread, &value);
    }
}

/* ---- callbacks ------------------------------------------------------------------------------ */

static void *on_start(void *result, const struct plumb_torch_record *record);
static void on_end(const struct plumb_torch_record *record, void *context);

static const struct plumb_torch_callback operators = {
    .start = on_start,
    .end = on_end,
    .probability = 1,
    .scopes = {[PLUMB_TORCH_SCOPE_FUNCTION] = 1},
    .needs_inputs = true,
    .needs_outputs = true,
};

static enum frame frame_of(const struct plumb_torch_record *record, struct plumb_op **op)
{
    const char *name = torch.name(record);
    *op = plumb_op_of_schema(name, torch.overload(record));
    if (*op)
        return (*op)->flags & PLUMB_OP_COMPOSITE ? FRAME_OTHER : FRAME_OPERATOR;
    return plumb_op_is_engine(name) ? FRAME_ENGINE : FRAME_OTHER;
}

static void start_function(struct thread *thread, const struct plumb_torch_record *record)
{
    struct plumb_op *op = NULL;
    enum frame frame = FRAME_OTHER;
    if (thread->depth < DEEPEST) {
        frame = frame_of(record, &op);
        if (frame == FRAME_OPERATOR && !thread->operators && is_passed_on(op, record)) {
            frame = FRAME_OTHER;
            (void)know_node(thread, op, record);
        }
        thread->frames[thread->depth] = (unsigned char)frame;
    }
    thread->depth++;
    thread->inner++;
    plumb_silence_broken(&thread->silence);
    if (frame == FRAME_ENGINE) {
        thread->engines++;
        thread->left = (struct plumb_maker){PLUMB_NO_MODULE, 0};
    }
    if (frame == FRAME_OPERATOR && thread->operators++ == 0) {
        if (torch.in_parallel() || is_tracing()) {
            thread->call.op = NULL;
            return;
        }
        begin_operator(thread, op, record);
        thread->inner = 0;
        if (op->flags & PLUMB_OP_TORCH)
            plumb_silence_begin(&thread->silence, &torch, &operators,
                                atomic_load_explicit(&op->inner, memory_order_relaxed), record);
    }
}

static void end_function(struct thread *thread, const struct plumb_torch_record *record,
                         bool was_silent)
{
    if (thread->depth == 0)
        return;
    thread->depth--;
    const enum frame frame =
        thread->depth < DEEPEST ? (enum frame)thread->frames[thread->depth] : FRAME_OTHER;
    thread->engines -= frame == FRAME_ENGINE;
    if (frame != FRAME_OPERATOR || --thread->operators || !thread->call.op)
        return;
    if (!was_silent)
        atomic_store_explicit(&thread->call.op->inner, thread->inner, memory_order_relaxed);
    take_outputs(thread, record);
    plumb_op_leave(&thread->call);
}

static void *on_start(void *result, const struct plumb_torch_record *record)
{
    *(void **)result = NULL;
    atomic_fetch_add(&busy, 1);
    struct thread *thread = enter_thread();
    if (thread)
        start_function(thread, record);
    atomic_fetch_sub(&busy, 1);
    return result;
}

static void on_end(const struct plumb_torch_record *record, void *context)
{
    (void)context;
    atomic_fetch_add(&busy, 1);
    /* Also where recording has ended since: torch must not stay silent. */
    const bool was_silent = self && plumb_silence_end(&self->silence, &torch, record);
    struct thread *thread = same_thread();
    if (thread)
        end_function(thread, record, was_silent);
    atomic_fetch_sub(&busy, 1);
}

static void *on_node_start(void *result, const struct plumb_torch_record *record)
{
    *(void **)result = NULL;
    struct thread *thread = enter_thread();
    if (thread && thread->nodes++ < DEEPEST)
        thread->node[thread->nodes - 1] =
            (struct node){plumb_module_that_made(plumb_torch_sequence(&layout, record)),
                          plumb_module_current().depth};
    return result;
}

static void on_node_end(const struct plumb_torch_record *record, void *context)
{
    (void)record;
    (void)context;
    struct thread *thread = same_thread();
    if (!thread || !thread->nodes)
        return;
    thread->nodes--;
    if (thread->nodes < DEEPEST)
        thread->left = thread->node[thread->nodes].maker;
}

void plumb_torch_ops_expect_wrappers(void)
{
    atomic_store_explicit(&wrappers, true, memory_order_relaxed);
}

/* ---- on and off ----------------------------------------------------------------------------- */

const struct plumb_torch_symbols *plumb_torch_ops_symbols(void)
{
    return &torch;
}

struct plumb_torch_layout *plumb_torch_ops_layout(void)
{
    return &layout;
}

const char *plumb_torch_ops_load(void)
{
    (void)pthread_once(&prepared, prepare);
    return plumb_torch_symbols_load(&torch);
}

bool plumb_torch_ops_start(void)
{
    if (atomic_load(&generation) & 1)
        return true;
    const struct plumb_torch_callback nodes = {
        .start = on_node_start,
        .end = on_node_end,
        .probability = 1,
        .scopes = {[PLUMB_TORCH_SCOPE_BACKWARD] = 1},
    };
    atomic_fetch_add(&generation, 1);
    handles[0] = torch.add_callback(operators);
    handles[1] = torch.add_callback(nodes);
    return handles[0] != 0;
}

void plumb_torch_ops_stop(void)
{
    if (!(atomic_load(&generation) & 1))
        return;
    atomic_fetch_add(&generation, 1);
    torch.remove_callback(handles[0]);
    torch.remove_callback(handles[1]);
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < DRAIN_MS && atomic_load(&busy); i++)
        (void)nanosleep(&moment, NULL);
}

void plumb_torch_ops_after_fork(void)
{
    if (atomic_load(&generation) & 1)
        atomic_fetch_add(&generation, 1); /* the callbacks stay and do nothing */
    atomic_store(&busy, 0);
}
