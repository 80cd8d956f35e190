/* settled.h - is a file finished, or may its writer still add to it? */
#ifndef PLUMB_BASE_SETTLED_H
#define PLUMB_BASE_SETTLED_H

#include "plumb.h"

/* True if no process has the file open for writing. Where the system does not say (another user's
 * file, a network disk), true if it was not changed for ten seconds. */
bool plumb_file_is_settled(const char *path);

#endif
