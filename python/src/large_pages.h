/* large_pages.h - the tables of this module lie in few pages. */
#ifndef PLUMB_PYTHON_LARGE_PAGES_H
#define PLUMB_PYTHON_LARGE_PAGES_H

/* To be called before they are used; where the system does not do so, nothing changes. */
void plumb_use_large_pages(void);

#endif
