/* hf_trainer.c - the trainer_state.json that Hugging Face's Trainer keeps beside a checkpoint. */
#include "base/error.h"
#include "base/number.h"
#include "format/json_row.h"

#include <math.h>
#include <string.h>

static enum plumb_probe probe(const struct plumb_map *map)
{
    const bool object = map->size && memchr("{ \t\r\n", map->base[0], 5);
    if (!object || !memmem(map->base, map->size, "\"log_history\"", 13))
        return PLUMB_PROBE_NO;
    return PLUMB_PROBE_CERTAIN;
}

/* A number beside the history: what the training was set to. Written anew, as it may be bad JSON. */
static enum plumb_status take_setting(const struct plumb_json_key *key,
                                      const struct plumb_json_pull *pull,
                                      enum plumb_json_token token,
                                      const struct plumb_record_feed *feed,
                                      struct plumb_error *err)
{
    struct plumb_buffer name;
    char json[PLUMB_NUMBER_TEXT];
    double number = 0;
    if (!feed->config || token != PLUMB_JSON_NUMBER || !plumb_json_pull_double(pull, &number) ||
        !isfinite(number))
        return PLUMB_OK;
    plumb_number_text(number, json);
    plumb_buffer_init(&name, 1 << 12);
    plumb_json_key_unescape(key, &name);
    enum plumb_status status = PLUMB_OK;
    if (!plumb_buffer_failed(&name) &&
        !feed->config(feed->context, plumb_buffer_string(&name), json))
        status = plumb_fail(err, PLUMB_STOPPED, -1, "stopped");
    plumb_buffer_release(&name);
    return status;
}

/* The rows; false where the text is broken. */
static bool read_history(struct plumb_json_pull *pull, enum plumb_json_token token,
                         const struct plumb_record_feed *feed, enum plumb_status *status,
                         struct plumb_error *err)
{
    struct plumb_log_clock clock = {0};
    if (token != PLUMB_JSON_OPEN_ARRAY)
        return plumb_json_pull_skip(pull, token);
    while (!*status) {
        token = plumb_json_pull_next(pull);
        if (token == PLUMB_JSON_CLOSE_ARRAY)
            return true;
        struct plumb_log_row row = {.count = 0};
        if (token != PLUMB_JSON_OPEN_OBJECT || !plumb_json_row_read(pull, &row))
            return false;
        row.has_epoch = false; /* steps never begin again, and epochs are fractions */
        *status = plumb_log_emit(&clock, &row, feed, err);
    }
    return true;
}

static enum plumb_status read_object(const void *context, const struct plumb_record_part *part,
                                     const struct plumb_map *map,
                                     const struct plumb_record_feed *feed,
                                     struct plumb_error *err)
{
    (void)context;
    enum plumb_status status = PLUMB_OK;
    struct plumb_json_pull pull = plumb_json_pull_of(map->base, map->size);
    bool whole = plumb_json_pull_next(&pull) == PLUMB_JSON_OPEN_OBJECT;
    enum plumb_json_token token = PLUMB_JSON_BROKEN;
    while (whole && !status && (token = plumb_json_pull_next(&pull)) == PLUMB_JSON_KEY) {
        const struct plumb_json_key key = plumb_json_pull_key(&pull);
        token = plumb_json_pull_next(&pull);
        if (plumb_json_key_is(&key, "log_history")) {
            whole = read_history(&pull, token, feed, &status, err);
        } else {
            status = take_setting(&key, &pull, token, feed, err);
            whole = plumb_json_pull_skip(&pull, token);
        }
    }
    if (!status && (!whole || token != PLUMB_JSON_CLOSE_OBJECT))
        status = plumb_record_warn(
            feed, true, err, "%s: not whole from byte %zu of %zu on: expected %s", part->path,
            pull.at, map->size, pull.problem ? pull.problem : "a list of objects");
    return status;
}

static enum plumb_status read_state(const struct plumb_record_part *part,
                                    const struct plumb_record_feed *feed,
                                    struct plumb_error *err)
{
    return plumb_series_read(part, feed, read_object, NULL, err);
}

const struct plumb_record_format plumb_record_format_hf_trainer = {
    .entry =
        {.name = "hf-trainer",
         .summary = "trainer_state.json of Hugging Face's Trainer",
         .detail =
             "log_history becomes series by step: loss (a mean over logging_steps, rounded\n"
             "to four digits by the Trainer), grad_norm, lr, epoch, eval_*. Numbers beside\n"
             "it are settings."},
    .framework = "pytorch",
    .probe = probe,
    .read = read_state,
};
