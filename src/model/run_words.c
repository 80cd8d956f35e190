/* run_words.c - the names of phases, levels, fingerprints and what is saved, as files and JSON
 * have them. */
#include "plumb.h"

#include <string.h>

static const char *const phases[PLUMB_PHASE_COUNT] = {
    [PLUMB_PHASE_FORWARD] = "forward",
    [PLUMB_PHASE_BACKWARD] = "backward",
    [PLUMB_PHASE_OPTIMIZER] = "optimizer",
    [PLUMB_PHASE_COLLECTIVE] = "collective",
};

static const char *const levels[PLUMB_LEVEL_COUNT] = {
    [PLUMB_LEVEL_OP] = "op",
    [PLUMB_LEVEL_WATCH] = "watch",
    [PLUMB_LEVEL_MODULE] = "module",
};

static const char *const saves[PLUMB_SAVE_COUNT] = {
    [PLUMB_SAVE_STATS] = "stats",
    [PLUMB_SAVE_FINGERPRINT] = "fingerprint",
    [PLUMB_SAVE_TENSORS] = "tensors",
};

static const char *const fingerprints[PLUMB_FINGERPRINT_COUNT] = {
    [PLUMB_FINGERPRINT_NONE] = "none",   [PLUMB_FINGERPRINT_OWN] = "plumb",
    [PLUMB_FINGERPRINT_CRC32] = "crc32", [PLUMB_FINGERPRINT_CRC32_WIDE] = "crc32-wide",
    [PLUMB_FINGERPRINT_XOR] = "xor",
};

static bool find(const char *const *names, int count, const char *name, int *found)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) {
            *found = i;
            return true;
        }
    return false;
}

const char *plumb_phase_name(enum plumb_phase phase)
{
    return (unsigned)phase < PLUMB_PHASE_COUNT ? phases[phase] : "unknown";
}

const char *plumb_level_name(enum plumb_level level)
{
    return (unsigned)level < PLUMB_LEVEL_COUNT ? levels[level] : "unknown";
}

bool plumb_level_from_name(const char *name, enum plumb_level *level)
{
    int found = 0;
    if (!find(levels, PLUMB_LEVEL_COUNT, name, &found))
        return false;
    *level = (enum plumb_level)found;
    return true;
}

const char *plumb_save_name(enum plumb_save save)
{
    return (unsigned)save < PLUMB_SAVE_COUNT ? saves[save] : "unknown";
}

bool plumb_save_from_name(const char *name, enum plumb_save *save)
{
    int found = 0;
    if (!find(saves, PLUMB_SAVE_COUNT, name, &found))
        return false;
    *save = (enum plumb_save)found;
    return true;
}

const char *plumb_fingerprint_kind_name(enum plumb_fingerprint_kind kind)
{
    return (unsigned)kind < PLUMB_FINGERPRINT_COUNT ? fingerprints[kind] : "unknown";
}
