/* setting_value.c - see setting_value.h; the words are in setting_words.def. */
#include "compare/setting_value.h"

#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUE_SIZE = 512 };

static const struct {
    const char *setting, *meaning, *words;
} words[] = {
#define WORD(setting, meaning, words) {setting, meaning, words},
#include "compare/setting_words.def"
#undef WORD
};

bool plumb_setting_number(const char *json, double *number)
{
    char text[VALUE_SIZE];
    const size_t length = strlen(json);
    const bool quoted = length >= 2 && json[0] == '"' && json[length - 1] == '"';
    if (length >= sizeof text)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", (int)(length - (quoted ? 2 : 0)),
                   json + (quoted ? 1 : 0));
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0) {
        *number = tolower((unsigned char)text[0]) == 't';
        return true;
    }
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0';
}

bool plumb_setting_item(const char *json, size_t i, double *number)
{
    const char *at = json + strspn(json, " [(\"");
    for (; i && at; i--)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    if (!at)
        return false;
    char *end;
    *number = strtod(at, &end);
    return end != at;
}

bool plumb_setting_dtype(const char *json, enum plumb_dtype *dtype)
{
    char text[64];
    const char *dot = strrchr(json, '.'), *from = dot ? dot + 1 : json + (*json == '"');
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(from, "\""), from);
    return plumb_dtype_from_name(text, dtype);
}

const char *plumb_setting_meaning(const char *setting, const char *json)
{
    char word[VALUE_SIZE];
    const char *dot = strrchr(json, '.');
    size_t length = 0;
    for (const char *at = dot ? dot + 1 : json; *at && length + 1 < sizeof word; at++)
        if (isalnum((unsigned char)*at))
            word[length++] = (char)tolower((unsigned char)*at);
    word[length] = '\0';
    for (size_t i = 0; length && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].setting, setting) == 0 && plumb_text_has_word(words[i].words, word))
            return words[i].meaning;
    return NULL;
}

bool plumb_setting_same(const char *setting, const char *a, const char *b)
{
    double x, y;
    enum plumb_dtype of_a, of_b;
    if (plumb_setting_number(a, &x) && plumb_setting_number(b, &y))
        return x == y || fabs(x - y) <= 1e-12 * fabs(x) ||
               (float)x == (float)y; /* some frameworks keep them in f32 */
    if (plumb_setting_dtype(a, &of_a) && plumb_setting_dtype(b, &of_b))
        return of_a == of_b;
    const char *means_a = plumb_setting_meaning(setting, a);
    const char *means_b = plumb_setting_meaning(setting, b);
    if (means_a && means_b)
        return strcmp(means_a, means_b) == 0;
    return strcasecmp(a, b) == 0;
}
