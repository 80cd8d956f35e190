/* recorder.c - a recorder's beginning and end; the run's own description, run.json. */
#include "record/recorder_state.h"

#include "base/error.h"
#include "base/json_write.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SCHEMA = 1,
    DEFAULT_SLOTS = 256,
    DEFAULT_LIMIT = 64 << 20,
    SMALLEST_LIMIT = 8 << 20,
    OVERHEAD = 4 << 20, /* of the limit: the block being written, spare batches, buffers */
    SMALL_REPORT = 64 << 10,
};

static int64_t real_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- making it ------------------------------------------------------------------------------ */

static enum plumb_status make_directory(const char *path, struct plumb_error *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return PLUMB_OK;
    return plumb_fail_errno(err, "make the directory", path);
}

/* With all its parents. `path` is changed for a moment. */
static enum plumb_status make_directories(char *path, struct plumb_error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const enum plumb_status status = make_directory(path, err);
        *slash = '/';
        if (status)
            return status;
    }
    return make_directory(path, err);
}

static enum plumb_status check_options(const struct plumb_recorder_options *options,
                                       struct plumb_error *err)
{
    const int world = options->world_size ? options->world_size : 1;
    if (!options->path || !*options->path)
        return plumb_fail(err, PLUMB_INVALID, -1, "recording needs the path of a directory");
    if (options->rank < 0 || options->rank >= world)
        return plumb_fail(err, PLUMB_INVALID, -1, "%s: rank %d of a world of %d", options->path,
                          options->rank, world);
    if ((unsigned)options->level >= PLUMB_LEVEL_COUNT ||
        (unsigned)options->save >= PLUMB_SAVE_COUNT)
        return plumb_fail(err, PLUMB_INVALID, -1, "%s: no such level or kind of saving",
                          options->path);
    return PLUMB_OK;
}

static enum plumb_status init_locks(struct plumb_recorder *recorder, struct plumb_error *err)
{
    pthread_condattr_t monotonic;
    int failed = pthread_condattr_init(&monotonic);
    if (!failed)
        failed = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    if (!failed)
        failed = pthread_mutex_init(&recorder->lock, NULL);
    if (!failed)
        failed = pthread_cond_init(&recorder->wake, &monotonic);
    if (!failed)
        failed = pthread_cond_init(&recorder->room, &monotonic);
    return failed ? plumb_fail_memory(err) : PLUMB_OK;
}

static enum plumb_status take_options(struct plumb_recorder *recorder,
                                      const struct plumb_recorder_options *options,
                                      struct plumb_error *err)
{
    static atomic_uint_fast64_t serials;
    const size_t size = strlen(options->path) + 24;
    struct plumb_selection ranks;
    recorder->serial = atomic_fetch_add(&serials, 1) + 1;
    recorder->last = &recorder->first;
    recorder->track = (struct plumb_text){.text = "ops", .length = 3};
    recorder->file.fd = -1;
    recorder->step = -1;
    recorder->rank = options->rank;
    recorder->world_size = options->world_size ? options->world_size : 1;
    recorder->level = options->level;
    recorder->save = options->save;
    recorder->wait_when_full = options->wait_when_full;
    recorder->limit = options->memory_limit ? options->memory_limit : DEFAULT_LIMIT;
    if (recorder->limit < SMALLEST_LIMIT)
        recorder->limit = SMALLEST_LIMIT;
    recorder->limit -= OVERHEAD;
    recorder->started_ns = real_ns();
    recorder->path = plumb_copy_string(options->path);
    recorder->directory = plumb_alloc(size);
    recorder->framework = plumb_copy_string(options->framework ? options->framework : "");
    recorder->command_line =
        plumb_copy_string(options->command_line ? options->command_line : "");
    if (!recorder->path || !recorder->directory || !recorder->framework ||
        !recorder->command_line)
        return plumb_fail_memory(err);
    (void)snprintf(recorder->directory, size, "%s/rank%04d", options->path, options->rank);
    plumb_step_values_init(&recorder->values, recorder->directory);
    enum plumb_status status =
        plumb_selection_parse(options->steps, "steps", &recorder->steps, err);
    if (status == PLUMB_OK)
        status = plumb_selection_parse(options->ranks, "ranks", &ranks, err);
    recorder->selected_rank = !status && plumb_selection_has(&ranks, options->rank);
    return status;
}

/* ---- what is written first and last -------------------------------------------------------- */

/* `how` NULL: it is only beginning. */
static enum plumb_status write_run_json(const struct plumb_recorder *recorder, const char *how,
                                        struct plumb_error *err)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/run.json", recorder->path) >= (int)sizeof path)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", recorder->path);
    if (!how && access(path, F_OK) == 0)
        return PLUMB_OK; /* another rank was here first */
    struct plumb_buffer text;
    plumb_buffer_init(&text, PLUMB_BATCH_LONGEST);
    struct plumb_json_writer json = plumb_json_writer_of(&text);
    plumb_json_open_object(&json);
    plumb_json_put_key(&json, "schema");
    plumb_json_put_int(&json, SCHEMA);
    plumb_json_put_key(&json, "plumb");
    plumb_json_put_string(&json, PLUMB_VERSION);
    plumb_json_put_key(&json, "framework");
    plumb_json_put_string(&json, recorder->framework);
    plumb_json_put_key(&json, "command_line");
    plumb_json_put_string(&json, recorder->command_line);
    plumb_json_put_key(&json, "world_size");
    plumb_json_put_int(&json, recorder->world_size);
    plumb_json_put_key(&json, "started_ns");
    plumb_json_put_int(&json, recorder->started_ns);
    if (how) {
        plumb_json_put_key(&json, "ended_ns");
        plumb_json_put_int(&json, real_ns());
        plumb_json_put_key(&json, "ended");
        plumb_json_put_string(&json, how);
    }
    plumb_json_close_object(&json);
    plumb_buffer_text(&text, "\n");
    struct plumb_output *output = NULL;
    enum plumb_status status = plumb_buffer_failed(&text) ? plumb_fail_memory(err) : PLUMB_OK;
    if (status == PLUMB_OK)
        status = plumb_output_open(path, &output, err);
    if (status == PLUMB_OK)
        status = plumb_output_write(output, text.data, text.size, err);
    if (status == PLUMB_OK)
        status = plumb_output_publish(output, err);
    plumb_output_close(output);
    plumb_buffer_release(&text);
    return status;
}

static void add_number(struct plumb_recorder *recorder, unsigned kind, const char *key,
                       int64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)number);
    plumb_recorder_add_pair(recorder, kind, key, text);
}

static void add_string(struct plumb_recorder *recorder, unsigned kind, const char *key,
                       const char *value)
{
    struct plumb_buffer text;
    plumb_buffer_init(&text, SMALL_REPORT);
    struct plumb_json_writer json = plumb_json_writer_of(&text);
    plumb_json_put_string(&json, value);
    plumb_recorder_add_pair(recorder, kind, key,
                            plumb_buffer_failed(&text) ? "null" : plumb_buffer_string(&text));
    plumb_buffer_release(&text);
}

static void add_beginning(struct plumb_recorder *recorder)
{
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    add_string(recorder, PLUMB_BLOCK_RANK, "plumb", PLUMB_VERSION);
    add_number(recorder, PLUMB_BLOCK_RANK, "rank", recorder->rank);
    add_number(recorder, PLUMB_BLOCK_RANK, "world_size", recorder->world_size);
    add_string(recorder, PLUMB_BLOCK_RANK, "host", host);
    add_number(recorder, PLUMB_BLOCK_RANK, "pid", getpid());
    add_string(recorder, PLUMB_BLOCK_RANK, "framework", recorder->framework);
    add_string(recorder, PLUMB_BLOCK_RANK, "command_line", recorder->command_line);
    add_string(recorder, PLUMB_BLOCK_RANK, "level", plumb_level_name(recorder->level));
    add_string(recorder, PLUMB_BLOCK_RANK, "save", plumb_save_name(recorder->save));
    add_number(recorder, PLUMB_BLOCK_RANK, "started_ns", recorder->started_ns);
    add_number(recorder, PLUMB_BLOCK_RANK, "monotonic_ns", plumb_record_now());
    plumb_recorder_flush(recorder);
}

static void add_end(struct plumb_recorder *recorder, const char *how)
{
    const struct plumb_dropped *dropped = &recorder->dropped;
    plumb_recorder_flush(recorder); /* the end comes last */
    add_string(recorder, PLUMB_BLOCK_END, "how", how);
    add_number(recorder, PLUMB_BLOCK_END, "ended_ns", real_ns());
    add_number(recorder, PLUMB_BLOCK_END, "dropped_values", (int64_t)dropped->values);
    add_number(recorder, PLUMB_BLOCK_END, "dropped_tensors", (int64_t)dropped->tensors);
    add_number(recorder, PLUMB_BLOCK_END, "dropped_spans", (int64_t)dropped->spans);
    add_number(recorder, PLUMB_BLOCK_END, "dropped_counters", (int64_t)dropped->counters);
    plumb_recorder_flush(recorder);
}

/* ---- open and close ------------------------------------------------------------------------- */

/* In a child after fork() what the writer's thread was at work on stays as it is: it may be in the
 * middle of a change, and the open npz is the parent's, down to the name closing would remove. */
static void free_recorder(struct plumb_recorder *recorder)
{
    while (recorder->first) {
        struct plumb_item *item = recorder->first;
        recorder->first = item->next;
        plumb_item_free(item);
    }
    plumb_item_free(recorder->current);
    for (unsigned kind = 0; kind < PLUMB_BLOCK_KINDS; kind++) {
        plumb_batch_free(recorder->batches[kind]);
        plumb_batch_free(recorder->spares[kind]);
    }
    if (!recorder->forked) {
        plumb_step_values_abandon(&recorder->values);
        plumb_record_file_close(&recorder->file);
        (void)pthread_cond_destroy(&recorder->wake);
        (void)pthread_cond_destroy(&recorder->room);
        (void)pthread_mutex_destroy(&recorder->lock);
    }
    plumb_flight_close(&recorder->flight);
    plumb_table_release(&recorder->place_names);
    plumb_table_release(&recorder->texts);
    plumb_table_release(&recorder->stacks);
    plumb_arena_release(&recorder->place_arena);
    plumb_free(recorder->places);
    plumb_free(recorder->path);
    plumb_free(recorder->directory);
    plumb_free(recorder->framework);
    plumb_free(recorder->command_line);
    plumb_free(recorder);
}

static enum plumb_status open_files(struct plumb_recorder *recorder, size_t slots,
                                    struct plumb_error *err)
{
    enum plumb_status status = make_directories(recorder->directory, err);
    if (status == PLUMB_OK)
        status = plumb_record_file_open(&recorder->file, recorder->directory, err);
    if (status == PLUMB_OK)
        status = plumb_flight_open(&recorder->flight, recorder->directory,
                                   slots ? slots : DEFAULT_SLOTS, err);
    if (status == PLUMB_OK)
        status = write_run_json(recorder, NULL, err);
    if (status)
        return status;
    add_beginning(recorder); /* still without a thread: the first block is there, or we know */
    if (recorder->stopped) {
        if (err)
            *err = recorder->failure;
        return recorder->failure.status;
    }
    return PLUMB_OK;
}

enum plumb_status plumb_recorder_open(const struct plumb_recorder_options *options,
                                      struct plumb_recorder **out, struct plumb_error *err)
{
    enum plumb_status status = check_options(options, err);
    if (status)
        return status;
    struct plumb_recorder *recorder = plumb_alloc_array(1, sizeof *recorder);
    if (!recorder)
        return plumb_fail_memory(err);
    status = init_locks(recorder, err);
    if (status == PLUMB_OK)
        status = take_options(recorder, options, err);
    struct plumb_signal_guard guard;
    plumb_signal_guard_begin(&guard);
    if (status == PLUMB_OK && recorder->selected_rank)
        status = open_files(recorder, options->flight_slots, err);
    plumb_signal_guard_end(&guard);
    if (status == PLUMB_OK && recorder->selected_rank) {
        plumb_recorder_register(recorder);
        if (!options->no_thread)
            status = plumb_recorder_start_writer(recorder, err);
        if (status)
            plumb_recorder_unregister(recorder);
    }
    if (status) {
        free_recorder(recorder);
        return status;
    }
    (void)pthread_mutex_lock(&recorder->lock);
    plumb_recorder_set_wants(recorder);
    (void)pthread_mutex_unlock(&recorder->lock);
    *out = recorder;
    return PLUMB_OK;
}

static void end_recording(struct plumb_recorder *recorder, const char *how)
{
    (void)pthread_mutex_lock(&recorder->lock);
    if (recorder->save == PLUMB_SAVE_TENSORS && !recorder->stopped)
        plumb_recorder_finish_step(recorder);
    add_end(recorder, how);
    (void)pthread_mutex_unlock(&recorder->lock);
    plumb_recorder_finish_writer(recorder);
    struct plumb_error error;
    struct plumb_signal_guard guard;
    plumb_signal_guard_begin(&guard);
    const bool whole = !recorder->stopped;
    if (whole && recorder->rank == 0 && write_run_json(recorder, how, &error))
        plumb_recorder_stop(recorder, &error);
    if (whole)
        plumb_flight_end(&recorder->flight, PLUMB_FLIGHT_CLOSED, how);
    plumb_signal_guard_end(&guard);
}

enum plumb_status plumb_recorder_close(struct plumb_recorder *recorder, const char *how,
                                       struct plumb_error *err)
{
    if (!recorder)
        return PLUMB_OK;
    if (recorder->selected_rank && !recorder->forked)
        end_recording(recorder, how ? how : "closed");
    if (recorder->selected_rank)
        plumb_recorder_unregister(recorder);
    const enum plumb_status status = recorder->stopped ? recorder->failure.status : PLUMB_OK;
    if (status && err)
        *err = recorder->failure;
    free_recorder(recorder);
    return status;
}

const char *plumb_recorder_message(struct plumb_recorder *recorder)
{
    return recorder && atomic_load(&recorder->has_failure) ? recorder->failure.message : NULL;
}

void plumb_recorder_dropped(struct plumb_recorder *recorder, struct plumb_dropped *dropped)
{
    *dropped = (struct plumb_dropped){0};
    if (!recorder || recorder->forked)
        return;
    (void)pthread_mutex_lock(&recorder->lock);
    *dropped = recorder->dropped;
    (void)pthread_mutex_unlock(&recorder->lock);
}
