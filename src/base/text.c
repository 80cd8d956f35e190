/* text.c - see text.h. */
#include "base/text.h"

#include <string.h>
#include <strings.h>

bool plumb_text_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool plumb_text_ends(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return tail <= length && strcmp(text + length - tail, end) == 0;
}

bool plumb_text_has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    while (words && *words) {
        const size_t here = strcspn(words, " ");
        if (here == length && strncasecmp(words, word, length) == 0)
            return true;
        words += here;
        words += strspn(words, " ");
    }
    return false;
}

bool plumb_text_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == *text || *pattern == '?') {
            pattern++;
            text++;
        } else if (star) { /* let the last star take one character more */
            pattern = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

const char *plumb_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *plumb_path_extension(const char *path)
{
    const char *base = plumb_path_base(path);
    const char *dot = strrchr(base, '.');
    return dot && dot != base ? dot + 1 : "";
}

bool plumb_path_stays_inside(const char *path)
{
    if (!*path || *path == '/')
        return false;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    }
    return true;
}
