/* record_walk.h - counts the rows of each kind in a records.plumb, block by block. */
#ifndef PLUMB_TESTS_RECORD_WALK_H
#define PLUMB_TESTS_RECORD_WALK_H

#include "base/map.h"
#include "format/run_block.h"

struct record_walk {
    size_t blocks, rows[PLUMB_BLOCK_KINDS];
    size_t left_over; /* bytes after the last whole block */
    const char *problem;
};

static inline struct record_walk record_walk(const char *path)
{
    struct record_walk walk = {0};
    struct plumb_map *map = NULL;
    if (plumb_map_open(path, &map, NULL)) {
        walk.problem = "cannot be opened";
        return walk;
    }
    size_t at = 0;
    while (at + PLUMB_BLOCK_HEADER <= map->size && !walk.problem) {
        struct plumb_block_header header;
        struct plumb_block block;
        if (!plumb_block_header_parse(map->base + at, &header)) {
            walk.problem = "a header is damaged";
            break;
        }
        if (header.body_size > map->size - at - PLUMB_BLOCK_HEADER)
            break;
        if (header.number != walk.blocks)
            walk.problem = "a block is missing";
        else
            walk.problem =
                plumb_block_parse(&header, map->base + at + PLUMB_BLOCK_HEADER, &block);
        walk.blocks++;
        if (header.kind < PLUMB_BLOCK_KINDS)
            walk.rows[header.kind] += header.rows;
        at += PLUMB_BLOCK_HEADER + (size_t)header.body_size;
    }
    walk.left_over = map->size - at;
    plumb_map_close(map);
    return walk;
}

#endif
