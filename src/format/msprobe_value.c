/* msprobe_value.c - the nested lists and objects that an operation has in dump.json. */
#include "base/json_pull.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/msprobe_dump.h"
#include "model/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_TEXT = 16 << 20, MOST_LEAVES = 1 << 20 };

enum statistic { MAX, MIN, MEAN, NORM, STATISTICS };

/* What the members of a leaf said, in whatever order. */
struct members {
    char dtype[64], hash[32];
    bool has_shape, has_value, is_bool;
    int dims;
    int64_t shape[PLUMB_MAX_RANK];
    bool said[STATISTICS]; /* null is "not computed" */
    double statistics[STATISTICS];
    double value;
    bool integral; /* the value has only digits */
    int64_t integer;
    size_t data_name;
};

static bool read_value(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                       enum plumb_json_token token);

void plumb_msprobe_op_clear(struct plumb_msprobe_op *op)
{
    plumb_buffer_clear(&op->name);
    plumb_buffer_clear(&op->text);
    plumb_buffer_clear(&op->slot);
    plumb_buffer_clear(&op->group);
    op->name.limit = op->text.limit = op->slot.limit = op->group.limit = LONGEST_TEXT;
    op->count = op->peer_count = 0;
    op->overflowed = false;
}

void plumb_msprobe_op_release(struct plumb_msprobe_op *op)
{
    plumb_buffer_release(&op->name);
    plumb_buffer_release(&op->text);
    plumb_buffer_release(&op->slot);
    plumb_buffer_release(&op->group);
    plumb_free(op->leaves);
}

/* ---- a leaf -------------------------------------------------------------------------------- */

static void copy_text(const struct plumb_json_pull *pull, char *to, size_t size)
{
    const size_t length = pull->length < size ? pull->length : size - 1;
    memcpy(to, pull->text, length);
    to[length] = '\0';
}

/* A list of whole numbers; false if it holds anything else, which is passed over. */
static bool read_integers(struct plumb_json_pull *pull, enum plumb_json_token token,
                          int64_t *numbers, int most, int *count)
{
    bool good = token == PLUMB_JSON_OPEN_ARRAY;
    *count = 0;
    if (!good)
        return plumb_json_pull_skip(pull, token) && false;
    while ((token = plumb_json_pull_next(pull)) != PLUMB_JSON_CLOSE_ARRAY) {
        good &= token == PLUMB_JSON_NUMBER && *count < most &&
                plumb_json_pull_integer(pull, &numbers[*count < most ? *count : 0]);
        *count += good;
        if (!plumb_json_pull_skip(pull, token))
            return false;
    }
    return good;
}

/* group_ranks of a process group. */
static void read_group(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                       enum plumb_json_token token)
{
    if (token != PLUMB_JSON_OPEN_ARRAY) {
        (void)plumb_json_pull_skip(pull, token);
        return;
    }
    plumb_buffer_clear(&op->group);
    while ((token = plumb_json_pull_next(pull)) == PLUMB_JSON_NUMBER) {
        if (op->group.size)
            plumb_buffer_text(&op->group, ",");
        plumb_buffer_append(&op->group, pull->text, pull->length);
    }
    while (token != PLUMB_JSON_CLOSE_ARRAY && plumb_json_pull_skip(pull, token))
        token = plumb_json_pull_next(pull);
}

static void read_scalar_value(struct members *members, const struct plumb_json_pull *pull,
                              enum plumb_json_token token)
{
    if (token == PLUMB_JSON_NUMBER) {
        members->has_value = plumb_json_pull_double(pull, &members->value);
        members->integral = plumb_json_pull_integer(pull, &members->integer);
    } else if (token == PLUMB_JSON_TRUE || token == PLUMB_JSON_FALSE) {
        members->has_value = members->is_bool = true;
        members->value = token == PLUMB_JSON_TRUE;
    }
}

/* Max and its like: a number, or null if it was not computed; of a bool tensor true or false. */
static bool read_statistic(struct members *members, struct plumb_json_pull *pull,
                           enum plumb_json_token token, enum statistic which, bool count_only)
{
    double *to = &members->statistics[which];
    if (count_only) {
        members->said[which] = token == PLUMB_JSON_NUMBER;
    } else if (token == PLUMB_JSON_NUMBER) {
        members->said[which] = plumb_json_pull_double(pull, to);
    } else if (token == PLUMB_JSON_TRUE || token == PLUMB_JSON_FALSE) {
        members->said[which] = true;
        *to = token == PLUMB_JSON_TRUE;
    }
    return plumb_json_pull_skip(pull, token);
}

static bool read_text_member(struct plumb_msprobe_op *op, struct members *members,
                             const struct plumb_json_key *key,
                             const struct plumb_json_pull *pull)
{
    if (plumb_json_key_is(key, "dtype")) {
        copy_text(pull, members->dtype, sizeof members->dtype);
    } else if (plumb_json_key_is(key, "md5")) {
        copy_text(pull, members->hash, sizeof members->hash);
    } else if (plumb_json_key_is(key, "data_name")) {
        members->data_name = op->text.size;
        plumb_json_pull_unescape(pull, &op->text);
        plumb_buffer_append(&op->text, "", 1);
    }
    return true;
}

/* STATISTICS if the key names none of them. */
static enum statistic statistic_of(const struct plumb_json_key *key)
{
    if (plumb_json_key_is(key, "Max"))
        return MAX;
    if (plumb_json_key_is(key, "Min"))
        return MIN;
    if (plumb_json_key_is(key, "Mean"))
        return MEAN;
    return plumb_json_key_is(key, "Norm") ? NORM : STATISTICS;
}

static bool read_member(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                        struct members *members)
{
    const struct plumb_json_key key = plumb_json_pull_key(pull);
    const enum plumb_json_token token = plumb_json_pull_next(pull);
    const enum statistic statistic = statistic_of(&key);
    if (statistic != STATISTICS)
        return read_statistic(members, pull, token, statistic, op->count_only);
    if (plumb_json_key_is(&key, "shape")) {
        members->has_shape =
            read_integers(pull, token, members->shape, PLUMB_MAX_RANK, &members->dims);
        return !pull->problem;
    }
    if (plumb_json_key_is(&key, "group_ranks")) {
        read_group(op, pull, token);
        return !pull->problem;
    }
    if (plumb_json_key_is(&key, "value"))
        read_scalar_value(members, pull, token);
    return token == PLUMB_JSON_TEXT ? read_text_member(op, members, &key, pull)
                                    : plumb_json_pull_skip(pull, token);
}

/* Hexadecimal digits, with or without 0x. */
static bool parse_hash(const char *text, struct plumb_msprobe_leaf *leaf, bool widened)
{
    const bool is_xor = plumb_text_starts(text, "0x");
    uint64_t value = 0;
    text += is_xor ? 2 : 0;
    const size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        const char *digit = strchr("0123456789abcdef", text[i] | 0x20);
        if (!digit || !*digit)
            return false;
        value = value << 4 | (uint64_t)((digit - "0123456789abcdef") & 15);
    }
    if (!length || length > (is_xor ? 16U : 8U))
        return false;
    leaf->fingerprint = value;
    leaf->fingerprint_kind = is_xor    ? PLUMB_FINGERPRINT_XOR
                             : widened ? PLUMB_FINGERPRINT_CRC32_WIDE
                                       : PLUMB_FINGERPRINT_CRC32;
    return true;
}

/* Some versions of the statistics skip NaN: then the mean or the norm still shows it. */
static bool holds_nan(const struct members *members)
{
    const double *statistics = members->statistics;
    const bool bounded = isfinite(statistics[MAX]) && isfinite(statistics[MIN]);
    return (members->said[MAX] && isnan(statistics[MAX])) ||
           (members->said[MIN] && isnan(statistics[MIN])) ||
           (members->said[NORM] && isnan(statistics[NORM])) ||
           (members->said[MEAN] && isnan(statistics[MEAN]) && bounded);
}

/* A NaN among the values makes all four NaN; an infinity stands in Max or Min itself. */
static void fill_stats(struct plumb_msprobe_leaf *leaf, const struct members *members)
{
    double known[STATISTICS];
    int64_t count = 0;
    (void)plumb_shape_count(leaf->dims, leaf->shape, &count);
    for (int i = 0; i < STATISTICS; i++) {
        const bool finite = members->said[i] && isfinite(members->statistics[i]);
        known[i] = finite ? members->statistics[i] : (double)NAN;
        leaf->has_stats |= members->said[i];
    }
    const double largest =
        plumb_dtype_is_float(leaf->dtype) ? plumb_dtype_max(leaf->dtype) : (double)INFINITY;
    leaf->stats = (struct plumb_stats){
        .count = (uint64_t)count,
        .nan = holds_nan(members),
        .pos_inf = members->said[MAX] && members->statistics[MAX] == (double)INFINITY,
        .neg_inf = members->said[MIN] && members->statistics[MIN] == -(double)INFINITY,
        .at_max = known[MAX] == largest || known[MIN] == -largest,
        .min = known[MIN],
        .max = known[MAX],
        .mean = known[MEAN],
        .std = (double)NAN,
        .l2 = known[NORM],
        .abs_mean = (double)NAN,
    };
}

static void fill_number(struct plumb_msprobe_leaf *leaf, const struct members *members)
{
    const uint8_t truth = members->value != 0;
    leaf->dims = 0;
    leaf->dtype = members->is_bool ? PLUMB_BOOL : members->integral ? PLUMB_I64 : PLUMB_F64;
    const void *value = members->is_bool    ? (const void *)&truth
                        : members->integral ? (const void *)&members->integer
                                            : (const void *)&members->value;
    plumb_values_stats(leaf->dtype, value, 1, &leaf->stats);
    leaf->fingerprint = plumb_values_fingerprint(leaf->dtype, value, 1);
    leaf->fingerprint_kind = PLUMB_FINGERPRINT_OWN;
    leaf->has_stats = true;
}

static struct plumb_msprobe_leaf *new_leaf(struct plumb_msprobe_op *op)
{
    if (op->count == op->capacity) {
        const size_t larger = op->capacity ? op->capacity * 2 : 32;
        void *leaves = op->capacity < MOST_LEAVES
                           ? plumb_realloc_array(op->leaves, larger, sizeof *op->leaves)
                           : NULL;
        if (!leaves) {
            op->failed = true;
            return NULL;
        }
        op->leaves = leaves;
        op->capacity = larger;
    }
    struct plumb_msprobe_leaf *leaf = &op->leaves[op->count++];
    *leaf = (struct plumb_msprobe_leaf){.data_name = SIZE_MAX, .slot = op->text.size};
    plumb_buffer_append(&op->text, plumb_buffer_string(&op->slot), op->slot.size + 1);
    op->failed |= plumb_buffer_failed(&op->text) || plumb_buffer_failed(&op->slot);
    return leaf;
}

static void note_unknown_dtype(struct plumb_msprobe_op *op, const char *dtype)
{
    if (op->unknown_dtypes++ == 0)
        (void)snprintf(op->unknown_dtype, sizeof op->unknown_dtype, "%s", dtype);
}

/* Most tensors are of the type of the one before. */
static bool find_dtype(struct plumb_msprobe_op *op, const char *name, enum plumb_dtype *dtype)
{
    if (strcmp(op->last_dtype_name, name) != 0) {
        if (!plumb_dtype_from_name(name, &op->last_dtype))
            return false;
        (void)snprintf(op->last_dtype_name, sizeof op->last_dtype_name, "%s", name);
    }
    *dtype = op->last_dtype;
    return true;
}

static void keep_leaf(struct plumb_msprobe_op *op, const struct members *members)
{
    enum plumb_dtype dtype = PLUMB_F32;
    const bool tensor = members->has_shape && members->dtype[0];
    if (!tensor && !members->has_value)
        return;
    if (tensor && !find_dtype(op, members->dtype, &dtype)) {
        note_unknown_dtype(op, members->dtype);
        return;
    }
    int64_t count = 0;
    struct plumb_msprobe_leaf *leaf = NULL;
    if (tensor && !plumb_shape_count(members->dims, members->shape, &count))
        return;
    if (!(leaf = new_leaf(op)))
        return;
    if (!tensor) {
        fill_number(leaf, members);
        return;
    }
    leaf->is_tensor = true;
    leaf->dtype = dtype;
    leaf->dims = members->dims;
    memcpy(leaf->shape, members->shape, sizeof leaf->shape);
    leaf->data_name = members->data_name;
    if (members->hash[0])
        (void)parse_hash(members->hash, leaf, op->is_mindspore && dtype == PLUMB_BF16);
    if (!op->count_only)
        fill_stats(leaf, members);
}

/* `type` was the first key of an object, and its value a string: a leaf. */
static bool read_leaf(struct plumb_msprobe_op *op, struct plumb_json_pull *pull)
{
    struct members members = {.data_name = SIZE_MAX};
    for (;;) {
        const enum plumb_json_token token = plumb_json_pull_next(pull);
        if (token == PLUMB_JSON_CLOSE_OBJECT)
            break;
        if (token != PLUMB_JSON_KEY || !read_member(op, pull, &members))
            return false;
    }
    keep_leaf(op, &members);
    return !op->failed;
}

/* ---- lists and objects of leaves --------------------------------------------------------------- */

static void shorten(struct plumb_buffer *buffer, size_t size)
{
    buffer->size = size;
    if (buffer->data)
        buffer->data[size] = '\0';
}

/* Tensors come by the million: printf would be a tenth of the time. */
static void append_index(struct plumb_buffer *slot, const char *separator, size_t index)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + index % 10);
    while (index /= 10);
    if (*separator)
        plumb_buffer_append(slot, separator, 1);
    plumb_buffer_append(slot, digits + at, sizeof digits - at);
}

static bool read_list(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                      const char *separator)
{
    const size_t before = op->slot.size;
    for (size_t i = 0;; i++) {
        const enum plumb_json_token token = plumb_json_pull_next(pull);
        if (token == PLUMB_JSON_CLOSE_ARRAY)
            return true;
        append_index(&op->slot, separator, i);
        if (!read_value(op, pull, token))
            return false;
        shorten(&op->slot, before);
    }
}

/* What a P2POp says beside its tensor. */
struct message {
    bool is_one, sends, has_peer;
    int64_t peer;
};

static void look_for_message(struct message *message, const struct plumb_json_key *key,
                             const struct plumb_json_pull *pull, enum plumb_json_token token)
{
    if (plumb_json_key_is(key, "class_type"))
        message->is_one = true;
    else if (token == PLUMB_JSON_TEXT && plumb_json_key_is(key, "op"))
        message->sends = memmem(pull->text, pull->length, "send", 4) != NULL;
    else if (token == PLUMB_JSON_NUMBER && plumb_json_key_is(key, "peer"))
        message->has_peer = plumb_json_pull_integer(pull, &message->peer);
}

/* The pull stands after the first key; `token` is that key's value. */
static bool read_members(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                         struct plumb_json_key key, enum plumb_json_token token,
                         const char *separator)
{
    const size_t before = op->slot.size;
    struct message message = {0};
    for (;;) {
        look_for_message(&message, &key, pull, token);
        plumb_buffer_text(&op->slot, separator);
        plumb_json_key_unescape(&key, &op->slot);
        if (!read_value(op, pull, token))
            return false;
        shorten(&op->slot, before);
        token = plumb_json_pull_next(pull);
        if (token == PLUMB_JSON_CLOSE_OBJECT)
            break;
        if (token != PLUMB_JSON_KEY)
            return false;
        key = plumb_json_pull_key(pull);
        token = plumb_json_pull_next(pull);
    }
    if (message.is_one && message.has_peer && op->peer_count < PLUMB_MSPROBE_MOST_PEERS)
        op->peers[op->peer_count++] =
            (struct plumb_msprobe_peer){.sends = message.sends, .rank = message.peer};
    return true;
}

static bool read_object(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                        const char *separator)
{
    enum plumb_json_token token = plumb_json_pull_next(pull);
    if (token == PLUMB_JSON_CLOSE_OBJECT)
        return true;
    if (token != PLUMB_JSON_KEY)
        return false;
    const struct plumb_json_key key = plumb_json_pull_key(pull);
    token = plumb_json_pull_next(pull);
    if (token == PLUMB_JSON_TEXT && plumb_json_key_is(&key, "type"))
        return read_leaf(op, pull);
    return read_members(op, pull, key, token, separator);
}

static bool read_value(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                       enum plumb_json_token token)
{
    if (token == PLUMB_JSON_OPEN_ARRAY)
        return read_list(op, pull, ".");
    if (token == PLUMB_JSON_OPEN_OBJECT)
        return read_object(op, pull, ".");
    return token != PLUMB_JSON_BROKEN;
}

/* ---- an operation --------------------------------------------------------------------------------- */

/* A part of an operation: its arguments, results or parameters. A list of one leaf in
 * parameters_grad is that leaf. */
static bool read_section(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                         enum plumb_json_token token, const struct plumb_json_key *key,
                         enum plumb_msprobe_kind kind)
{
    static const struct {
        const char *key, *slot;
    } sections[] = {{"input_args", "input"},
                    {"input_kwargs", "input"},
                    {"input", "input"},
                    {"output", "output"},
                    {"parameters", "param"}};
    plumb_buffer_clear(&op->slot);
    if (kind == PLUMB_MSPROBE_PARAMETERS_GRAD) {
        plumb_buffer_text(&op->slot, "grad:");
        plumb_json_key_unescape(key, &op->slot);
        if (token != PLUMB_JSON_OPEN_ARRAY)
            return read_value(op, pull, token);
        token = plumb_json_pull_next(pull);
        if (token == PLUMB_JSON_CLOSE_ARRAY)
            return true;
        if (!read_value(op, pull, token))
            return false;
        plumb_buffer_text(&op->slot, ".more");
        return read_list(op, pull, ".");
    }
    if (plumb_json_key_is(key, "is_nan"))
        op->overflowed = token == PLUMB_JSON_TRUE;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (plumb_json_key_is(key, sections[i].key))
            plumb_buffer_text(&op->slot, sections[i].slot);
    if (!op->slot.size)
        plumb_json_key_unescape(key, &op->slot);
    if (token == PLUMB_JSON_OPEN_ARRAY)
        return read_list(op, pull, "");
    return token == PLUMB_JSON_OPEN_OBJECT ? read_object(op, pull, ":")
                                           : token != PLUMB_JSON_BROKEN;
}

static bool read_sections(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                          const struct plumb_msprobe_name *name)
{
    for (bool first = true;; first = false) {
        enum plumb_json_token token = plumb_json_pull_next(pull);
        if (token == PLUMB_JSON_CLOSE_OBJECT)
            return true;
        if (token != PLUMB_JSON_KEY)
            return false;
        const struct plumb_json_key key = plumb_json_pull_key(pull);
        token = plumb_json_pull_next(pull);
        if (first && token == PLUMB_JSON_TEXT && plumb_json_key_is(&key, "type")) {
            plumb_buffer_text(&op->slot, "output0"); /* saved by the program: one value */
            return read_leaf(op, pull);
        }
        if (!read_section(op, pull, token, &key, name->kind))
            return false;
    }
}

bool plumb_msprobe_op_read(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                           enum plumb_json_token token, const struct plumb_msprobe_name *name)
{
    if (token == PLUMB_JSON_OPEN_OBJECT)
        return read_sections(op, pull, name);
    if (token != PLUMB_JSON_OPEN_ARRAY)
        return token != PLUMB_JSON_BROKEN;
    plumb_buffer_text(&op->slot, "output");
    return read_list(op, pull, "");
}
