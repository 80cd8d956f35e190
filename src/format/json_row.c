/* json_row.c - see json_row.h. */
#include "format/json_row.h"

#include <string.h>

enum { DEEPEST = 4 };

static bool read_object(struct plumb_json_pull *pull, struct plumb_log_row *row,
                        struct plumb_buffer *name, int depth)
{
    const size_t before = name->size;
    for (;;) {
        enum plumb_json_token token = plumb_json_pull_next(pull);
        if (token == PLUMB_JSON_CLOSE_OBJECT)
            return true;
        if (token != PLUMB_JSON_KEY)
            return false;
        if (before)
            plumb_buffer_text(name, ".");
        plumb_json_pull_unescape(pull, name);
        token = plumb_json_pull_next(pull);
        double value = 0;
        bool good = true;
        if (token == PLUMB_JSON_NUMBER && plumb_json_pull_double(pull, &value))
            plumb_log_row_add(row, plumb_buffer_string(name), name->size, value);
        else if (token == PLUMB_JSON_TEXT && pull->length &&
                 plumb_log_number(pull->text, pull->length, &value) == pull->length)
            plumb_log_row_add(row, plumb_buffer_string(name), name->size, value);
        else if (token == PLUMB_JSON_OPEN_OBJECT && depth < DEEPEST)
            good = read_object(pull, row, name, depth + 1);
        else
            good = plumb_json_pull_skip(pull, token);
        if (!good)
            return false;
        name->size = before;
        if (name->data)
            name->data[before] = '\0';
    }
}

bool plumb_json_row_read(struct plumb_json_pull *pull, struct plumb_log_row *row)
{
    struct plumb_buffer name;
    plumb_buffer_init(&name, PLUMB_LOG_LONGEST_LINE);
    const bool whole = read_object(pull, row, &name, 0) && !plumb_buffer_failed(&name);
    plumb_buffer_release(&name);
    return whole;
}
