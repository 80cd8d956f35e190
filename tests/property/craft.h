/* craft.h - puts files together byte by byte, the impossible ones too. */
#ifndef PLUMB_TESTS_CRAFT_H
#define PLUMB_TESTS_CRAFT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct craft {
    unsigned char *bytes;
    size_t size, room;
};

static inline void craft_add(struct craft *craft, const void *bytes, size_t size)
{
    if (craft->size + size > craft->room) {
        craft->room = (craft->size + size) * 2;
        unsigned char *grown = realloc(craft->bytes, craft->room);
        if (!grown)
            abort();
        craft->bytes = grown;
    }
    if (size)
        memcpy(craft->bytes + craft->size, bytes, size);
    craft->size += size;
}

/* Little-endian number of `width` bytes. */
static inline void craft_number(struct craft *craft, uint64_t value, int width)
{
    for (int i = 0; i < width; i++) {
        const unsigned char byte = (unsigned char)(i < 8 ? value >> (8 * i) : 0);
        craft_add(craft, &byte, 1);
    }
}

static inline void craft_text(struct craft *craft, const char *text)
{
    craft_add(craft, text, strlen(text));
}

static inline void craft_repeat(struct craft *craft, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        craft_text(craft, text);
}

static inline void craft_free(struct craft *craft)
{
    free(craft->bytes);
    *craft = (struct craft){0};
}

static inline uint32_t craft_crc(const unsigned char *bytes, size_t size)
{
    uint32_t crc = 0xffffffffU;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
    }
    return ~crc;
}

/* One member of a zip archive; what is 0 is filled in as it should be. */
struct craft_member {
    const char *name;
    struct craft content;
    uint16_t method;
    uint32_t claimed_size;   /* uncompressed */
    uint32_t claimed_offset; /* of the local header */
};

static inline void craft_member_fields(struct craft *craft, const struct craft_member *member)
{
    const uint32_t stored = (uint32_t)member->content.size;
    craft_number(craft, 20, 2); /* version needed */
    craft_number(craft, 0, 2);  /* flags */
    craft_number(craft, member->method, 2);
    craft_number(craft, 0, 4); /* time and date */
    craft_number(craft, craft_crc(member->content.bytes, member->content.size), 4);
    craft_number(craft, stored, 4);
    craft_number(craft, member->claimed_size ? member->claimed_size : stored, 4);
    craft_number(craft, strlen(member->name), 2);
    craft_number(craft, 0, 2); /* extra */
}

/* An archive of the members; frees their content. */
static inline struct craft craft_zip(struct craft_member *members, size_t count)
{
    struct craft zip = {0}, directory = {0};
    for (size_t i = 0; i < count; i++) {
        const uint32_t offset =
            members[i].claimed_offset ? members[i].claimed_offset : (uint32_t)zip.size;
        craft_text(&zip, "PK\003\004");
        craft_member_fields(&zip, &members[i]);
        craft_text(&zip, members[i].name);
        craft_add(&zip, members[i].content.bytes, members[i].content.size);
        craft_text(&directory, "PK\001\002");
        craft_number(&directory, 20, 2);
        craft_member_fields(&directory, &members[i]);
        craft_number(&directory, 0, 2 + 2 + 2 + 4); /* comment, disk, attributes */
        craft_number(&directory, offset, 4);
        craft_text(&directory, members[i].name);
        craft_free(&members[i].content);
    }
    const size_t start = zip.size;
    craft_add(&zip, directory.bytes, directory.size);
    craft_text(&zip, "PK\005\006");
    craft_number(&zip, 0, 4);
    craft_number(&zip, count, 2);
    craft_number(&zip, count, 2);
    craft_number(&zip, directory.size, 4);
    craft_number(&zip, start, 4);
    craft_number(&zip, 0, 2);
    craft_free(&directory);
    return zip;
}

#endif
