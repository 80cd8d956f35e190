/* opaque.c - content that is a tensor to the file but not to Plumb; see opaque.h. */
#include "format/opaque.h"

#include "base/error.h"
#include "base/json_write.h"

#include <inttypes.h>

enum { MAX_NOTE = 1 << 16 };

static void describe(struct plumb_buffer *words, const struct plumb_opaque *opaque)
{
    plumb_buffer_printf(words, "opaque: %.40s tensor [", opaque->dtype);
    for (int i = 0; i < opaque->rank; i++)
        plumb_buffer_printf(words, i ? ", %" PRId64 : "%" PRId64, opaque->shape[i]);
    plumb_buffer_printf(words, "], %" PRIu64 " bytes", opaque->bytes);
}

enum plumb_status plumb_file_add_opaque(struct plumb_file *file,
                                        const struct plumb_opaque *opaque,
                                        struct plumb_error *err)
{
    struct plumb_buffer words, text;
    plumb_buffer_init(&words, MAX_NOTE);
    plumb_buffer_init(&text, MAX_NOTE);
    struct plumb_json_writer json = plumb_json_writer_of(&text);
    describe(&words, opaque);
    plumb_json_put_string(&json, plumb_buffer_string(&words));
    enum plumb_status status =
        plumb_buffer_failed(&words) || plumb_buffer_failed(&text)
            ? plumb_fail_memory(err)
            : plumb_file_add_note(file, opaque->name, plumb_buffer_string(&text), err);
    plumb_buffer_release(&words);
    plumb_buffer_release(&text);
    if (status)
        return status;
    return plumb_file_warn(file, err, "tensor '%.200s' (%.40s) is only listed: %s",
                           opaque->name, opaque->dtype, opaque->why);
}
