/* capture_wish.h - what `plumb run` wants recorded, and how the Python side is told. */
#ifndef CAPTURE_WISH_H
#define CAPTURE_WISH_H

#include <stdbool.h>

struct capture_wish {
    const char *level, *save, *steps, *ranks, *ops, *reference, *compute_in, *against, *out;
};

/* False after saying what makes no sense. */
bool capture_wish_check(const struct capture_wish *wish);
/* What is not said is as in the run that is compared with. False after saying why it cannot be read. */
bool capture_wish_like_other(struct capture_wish *wish);
/* Sets PLUMB_CAPTURE and PYTHONPATH. False: the environment has no room. */
bool capture_wish_tell(const struct capture_wish *wish, const char *directory, const char *site,
                       char *const *command);

#endif
