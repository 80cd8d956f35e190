/*
 * no_records.c - why no tensor record matches what was asked for: none were recorded, not at that
 * step or rank, or the name is another one; with the nearest names.
 */
#include "report/run_report.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_NEAR = 3,
    LONGEST_NAME = 255,   /* of what is compared */
    MOST_VISITED = 50000, /* records looked at: every step has the same ops */
    MISSING = 1, /* what a letter costs that the wish lacks: a part of a name is near */
    WRONG = 4,   /* and one that it has in excess, or another one */
};

/* How far `name` is from what was asked for, without its * and ?. */
static unsigned distance(const char *wish, const char *name)
{
    unsigned above[LONGEST_NAME + 1], row[LONGEST_NAME + 1];
    const size_t length = strnlen(name, LONGEST_NAME);
    for (size_t i = 0; i <= length; i++)
        above[i] = (unsigned)i * MISSING;
    for (; *wish; wish++) {
        if (*wish == '*' || *wish == '?')
            continue;
        row[0] = above[0] + WRONG;
        for (size_t i = 1; i <= length; i++) {
            const bool same =
                tolower((unsigned char)*wish) == tolower((unsigned char)name[i - 1]);
            unsigned least = above[i - 1] + (same ? 0 : WRONG);
            least = above[i] + WRONG < least ? above[i] + WRONG : least;
            row[i] = row[i - 1] + MISSING < least ? row[i - 1] + MISSING : least;
        }
        memcpy(above, row, sizeof above);
    }
    return above[length];
}

struct search {
    const char *wish;
    bool slots; /* look at slots, not at ops */
    struct plumb_arena arena;
    struct plumb_table seen;
    struct {
        const char *name;
        unsigned distance;
    } near[MOST_NEAR + 1]; /* nearest first; the last one is room to sort in */
    size_t near_count, visited;
    int64_t first_step, last_step;
    bool no_memory;
};

static void consider(struct search *search, const char *name)
{
    size_t known, i = search->near_count;
    if (plumb_table_get(&search->seen, name, &known))
        return;
    const char *copy = plumb_arena_text(&search->arena, name, strlen(name));
    if (!copy || !plumb_table_put(&search->seen, copy, 0)) {
        search->no_memory = true;
        return;
    }
    const unsigned far = distance(search->wish, copy);
    for (; i > 0 && search->near[i - 1].distance > far; i--)
        search->near[i] = search->near[i - 1];
    search->near[i].name = copy;
    search->near[i].distance = far;
    search->near_count += search->near_count < MOST_NEAR;
}

static bool look_at(void *context, const struct plumb_tensor_record *record)
{
    struct search *search = context;
    if (!search->visited || record->step < search->first_step)
        search->first_step = record->step;
    if (!search->visited || record->step > search->last_step)
        search->last_step = record->step;
    search->visited++;
    if (!search->wish)
        return true;
    consider(search, search->slots ? record->slot : record->label);
    return !search->no_memory && search->visited < MOST_VISITED;
}

/* "step 7 of rank 1", "rank 1", ...; empty if neither was asked for. */
static const char *place_word(const struct plumb_run_query *query, char text[64])
{
    char step[32] = "", rank[32] = "";
    if (query->some_steps)
        (void)snprintf(step, sizeof step, " at step %lld", (long long)query->first_step);
    if (query->rank >= 0)
        (void)snprintf(rank, sizeof rank, " of rank %d", query->rank);
    (void)snprintf(text, 64, "%s%s", step, rank);
    return text;
}

/* There is nothing at that step and rank, whatever its name. */
static enum plumb_status explain_place(struct plumb_run *run,
                                       const struct plumb_run_query *query,
                                       struct plumb_error *err)
{
    struct search search = {.wish = NULL};
    char place[64];
    enum plumb_status status = plumb_run_visit_records(run, NULL, look_at, &search, err);
    if (status)
        return status;
    if (!search.visited)
        return plumb_fail(
            err, PLUMB_NOT_FOUND, -1,
            "%s: holds no tensor records; record with PLUMB_LEVEL_OP (in the lab: "
            "--level op)",
            plumb_run_path(run));
    return plumb_fail(err, PLUMB_NOT_FOUND, -1,
                      "%s: no tensor records%s; there are some from step %lld to %lld, and "
                      "`plumb show %s` lists the ranks",
                      plumb_run_path(run), place_word(query, place),
                      (long long)search.first_step, (long long)search.last_step,
                      plumb_run_path(run));
}

static enum plumb_status explain_name(struct plumb_run *run,
                                      const struct plumb_run_query *query,
                                      const struct search *search, struct plumb_error *err)
{
    char names[MOST_NEAR * 204] = "", place[64];
    size_t at = 0;
    for (size_t i = 0; i < search->near_count; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%.200s", i ? ", " : "",
                               search->near[i].name);
    return plumb_fail(err, PLUMB_NOT_FOUND, -1, "%s: no %s '%.100s'%s; the nearest: %s",
                      plumb_run_path(run),
                      search->slots ? "slot of that op is" : "op is called", search->wish,
                      place_word(query, place), names);
}

enum plumb_status plumb_explain_no_records(struct plumb_run *run,
                                           const struct plumb_run_query *query,
                                           struct plumb_error *err)
{
    struct plumb_run_query wider = *query;
    struct search search = {.wish = query->slot, .slots = true};
    wider.slot = NULL;
    /* If the op is there, only its slot can be wrong. */
    enum plumb_status status =
        query->slot ? plumb_run_visit_records(run, &wider, look_at, &search, err) : PLUMB_OK;
    if (status == PLUMB_OK && !search.visited && query->op) {
        wider.op = NULL;
        search.wish = query->op;
        search.slots = false;
        status = plumb_run_visit_records(run, &wider, look_at, &search, err);
    }
    if (status == PLUMB_OK && search.no_memory)
        status = plumb_fail_memory(err);
    if (status == PLUMB_OK)
        status = search.visited ? explain_name(run, query, &search, err)
                                : explain_place(run, query, err);
    plumb_table_release(&search.seen);
    plumb_arena_release(&search.arena);
    return status;
}
