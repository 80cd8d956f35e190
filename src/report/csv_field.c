/* csv_field.c - see csv_field.h. */
#include "report/csv_field.h"

#include <string.h>

void plumb_csv_field(struct plumb_buffer *to, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        plumb_buffer_text(to, text);
        return;
    }
    plumb_buffer_text(to, "\"");
    for (; *text; text++) {
        if (*text == '"')
            plumb_buffer_text(to, "\"");
        plumb_buffer_append(to, text, 1);
    }
    plumb_buffer_text(to, "\"");
}
