/* opaque.c - content that is a tensor to the file but not to Plumb; see opaque.h. */
#include "format/opaque.h"

#include "base/error.h"
#include "base/json_write.h"

enum { MAX_NOTE = 1 << 16 };

static void describe(struct plumb_json_writer *json, const struct plumb_opaque *opaque)
{
    plumb_json_open_object(json);
    plumb_json_put_key(json, "opaque");
    plumb_json_put_string(json, "tensor");
    plumb_json_put_key(json, "dtype");
    plumb_json_put_string(json, opaque->dtype);
    plumb_json_put_key(json, "shape");
    plumb_json_open_array(json);
    for (int i = 0; i < opaque->rank; i++)
        plumb_json_put_int(json, opaque->shape[i]);
    plumb_json_close_array(json);
    plumb_json_put_key(json, "bytes");
    plumb_json_put_uint(json, opaque->bytes);
    plumb_json_close_object(json);
}

enum plumb_status plumb_file_add_opaque(struct plumb_file *file,
                                        const struct plumb_opaque *opaque,
                                        struct plumb_error *err)
{
    struct plumb_buffer text;
    plumb_buffer_init(&text, MAX_NOTE);
    struct plumb_json_writer json = plumb_json_writer_of(&text);
    describe(&json, opaque);
    enum plumb_status status =
        plumb_buffer_failed(&text)
            ? plumb_fail_memory(err)
            : plumb_file_add_note(file, opaque->name, plumb_buffer_string(&text), err);
    plumb_buffer_release(&text);
    if (status)
        return status;
    return plumb_file_warn(file, err, "tensor '%.200s' (%.40s) is only listed: %s",
                           opaque->name, opaque->dtype, opaque->why);
}
