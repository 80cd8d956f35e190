/* text.h - the few questions about strings and paths that several layers ask. */
#ifndef PLUMB_BASE_TEXT_H
#define PLUMB_BASE_TEXT_H

#include "plumb.h"

bool plumb_text_starts(const char *text, const char *start);
bool plumb_text_ends(const char *text, const char *end);
/* Is `word` one of the space-separated words? Letters of either case. */
bool plumb_text_has_word(const char *words, const char *word);
/* Shell-like: * is any run of characters, ? any one. */
bool plumb_text_matches(const char *pattern, const char *text);

/* "pth" of "a/b.pth"; "" without one. Borrowed from `path`. */
const char *plumb_path_extension(const char *path);
/* "b.pth" of "a/b.pth". Borrowed from `path`. */
const char *plumb_path_base(const char *path);
/* A relative path without "..": what a file may say about its neighbours. */
bool plumb_path_stays_inside(const char *path);

#endif
