/* op_names.c - see op_names.h. */
#include "compare/op_names.h"

#include "base/text.h"
#include "compare/number_map.h"
#include "model/naming.h"

#include <ctype.h>
#include <string.h>

enum { NAME_SIZE = 64 };
static const uint32_t unknown_kind = 1u << 31;

static const char *const kinds[] = {
#define OP_KIND(names) names,
#include "compare/op_kinds.def"
#undef OP_KIND
};

static const char *const classes[] = {
#define MODULE_CLASS(names) names,
#include "compare/module_classes.def"
#undef MODULE_CLASS
};

/* Letters and digits in lower case; what says how an op is implemented is left out. */
static size_t plain_name(const char *name, char plain[NAME_SIZE])
{
    static const char *const endings[] = {"ext", "forward", "default"};
    size_t length = 0;
    for (; *name && length + 1 < NAME_SIZE; name++)
        if (isalnum((unsigned char)*name))
            plain[length++] = (char)tolower((unsigned char)*name);
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && plumb_text_ends(plain, endings[i]))
            plain[length -= ending] = '\0';
    }
    return length;
}

/* The line that has the name, or a number that stands for the name itself. */
static uint32_t find_line(const char *const *lines, size_t count, const char *name)
{
    char plain[NAME_SIZE];
    const size_t length = plain_name(name, plain);
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < count; i++)
        if (plumb_text_has_word(lines[i], plain))
            return i;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)plain[i]) * 16777619u;
    return hash | unknown_kind;
}

uint32_t plumb_op_kind(const char *name)
{
    return find_line(kinds, sizeof kinds / sizeof *kinds, name);
}

bool plumb_op_is_copy(const char *name)
{
    static const char copies[] =
        "reshape view flatten unsafeview contiguous transpose permute t swapaxes transposeview "
        "squeeze unsqueeze expanddims clone copy tocopy cast to type identity alias "
        "reshapealias viewas";
    char plain[NAME_SIZE];
    (void)plain_name(name, plain);
    return plumb_text_has_word(copies, plain);
}

bool plumb_op_is_class(const char *name)
{
    return isupper((unsigned char)*name) != 0;
}

size_t plumb_label_path(const char *label, const char *name)
{
    const size_t length = strlen(label) - strlen(plumb_label_call(label));
    const size_t own = strlen(name);
    const bool ends = length > own && memcmp(label + length - own, name, own) == 0;
    return ends && label[length - own - 1] == '.' ? length - own - 1 : 0;
}

const char *plumb_label_call(const char *label)
{
    const char *mark = strrchr(label, '#');
    return mark ? mark : "";
}

static uint64_t mix_text(uint64_t key, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        key = plumb_key_mix(key, (unsigned char)text[i]);
    return key;
}

/* The name of a parameter without its path, as torch calls it. */
static uint64_t mix_leaf(uint64_t key, const char *leaf, size_t length)
{
    const char *torch = plumb_naming_torch_leaf(leaf, length);
    return torch ? mix_text(key, torch, strlen(torch)) : mix_text(key, leaf, length);
}

uint64_t plumb_label_key(const char *label, const char *name)
{
    size_t path = plumb_label_path(label, name);
    uint64_t key = find_line(classes, sizeof classes / sizeof *classes, name);
    if (strcmp(name, "update") == 0) {
        size_t leaf = path;
        while (leaf && label[leaf - 1] != '.')
            leaf--;
        key = mix_leaf(key, label + leaf, path - leaf);
        path = leaf;
    }
    key = mix_text(key, label, path);
    const char *call = plumb_label_call(label);
    return mix_text(plumb_key_mix(key, path), call, strlen(call));
}

uint64_t plumb_slot_key(const char *slot)
{
    const char *leaf = strchr(slot, ':');
    if (!leaf)
        return mix_text(0, slot, strlen(slot));
    leaf++;
    return mix_leaf(mix_text(0, slot, (size_t)(leaf - slot)), leaf, strlen(leaf));
}

bool plumb_slot_is_running(const char *slot)
{
    return plumb_text_starts(slot, "param:") && plumb_naming_is_buffer(slot + strlen("param:"));
}
