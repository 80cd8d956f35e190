/* selection.h - "0-9,100,500-:50": which steps, or ranks, are recorded. */
#ifndef PLUMB_RECORD_SELECTION_H
#define PLUMB_RECORD_SELECTION_H

#include "plumb.h"

enum { PLUMB_SELECTION_MOST = 32 };

struct plumb_selection {
    size_t count; /* 0: everything */
    struct plumb_selected {
        int64_t first, last, every;
    } ranges[PLUMB_SELECTION_MOST];
};

/* `what` ("steps") and the text are used in the message. NULL selects everything. */
enum plumb_status plumb_selection_parse(const char *text, const char *what,
                                        struct plumb_selection *selection,
                                        struct plumb_error *err);
bool plumb_selection_has(const struct plumb_selection *selection, int64_t number);

#endif
