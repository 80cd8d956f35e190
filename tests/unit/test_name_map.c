/* test_name_map.c - maps of names in each way of writing them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/name_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum plumb_status read_text(const char *text, struct plumb_name_map *map,
                                   struct plumb_error *err)
{
    char path[] = "/tmp/plumb-map-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    const enum plumb_status status = plumb_name_map_read(path, map, err);
    (void)unlink(path);
    return status;
}

static void every_way_of_writing_gives_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "a.w b.w\nc d\n",
        "# names\n\na.w\tb.w   # here\nc,d",
        "a.w: b.w\r\nc: d\r\n",
        "\"a.w\": \"b.w\"\n'c': d\n",
        "{\"a.w\": \"b.w\",\n \"c\": \"d\"}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct plumb_name_map map;
        assert_int_equal(read_text(texts[i], &map, NULL), PLUMB_OK);
        assert_int_equal(map.count, 2);
        assert_string_equal(plumb_name_map_get(&map, "a.w"), "b.w");
        assert_string_equal(plumb_name_map_get(&map, "c"), "d");
        assert_null(plumb_name_map_get(&map, "b.w"));
        plumb_name_map_release(&map);
    }
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    struct plumb_name_map map;
    struct plumb_error error;
    assert_int_equal(read_text("a b\nonly\n", &map, &error), PLUMB_DAMAGED);
    assert_non_null(strstr(error.message, "line 2"));
    assert_int_equal(read_text("a b c\n", &map, &error), PLUMB_DAMAGED);
    assert_int_equal(read_text("{\"a\": 7}", &map, &error), PLUMB_DAMAGED);
    assert_int_equal(read_text("{\"a\": ", &map, &error), PLUMB_DAMAGED);
    assert_int_equal(plumb_name_map_read("/nowhere/map", &map, &error), PLUMB_IO);
}

static void many_names_fit(void **state)
{
    (void)state;
    static char text[200000];
    size_t at = 0;
    for (int i = 0; i < 5000; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "a.%d b.%d\n", i, i);
    struct plumb_name_map map;
    assert_int_equal(read_text(text, &map, NULL), PLUMB_OK);
    assert_int_equal(map.count, 5000);
    assert_string_equal(plumb_name_map_get(&map, "a.4999"), "b.4999");
    plumb_name_map_release(&map);
}

/* msprobe's layer map: what holds in modules of a class. */
static void maps_of_layers_are_read_and_written(void **state)
{
    (void)state;
    static const char text[] = "TopLayer:\n  network_with_loss: module\n\n"
                               "ParallelAttention:   # class\n"
                               "  flash_attention_score: core.npu_fusion_attention\n"
                               "\"Norm\":\n\tRmsNorm: npu_rms_norm\nflat: name\n";
    char path[] = "/tmp/plumb-map-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    struct plumb_name_map map, again;
    assert_int_equal(read_text(text, &map, NULL), PLUMB_OK);
    assert_int_equal(plumb_name_map_write(&map, path, NULL), PLUMB_OK);
    assert_int_equal(plumb_name_map_read(path, &again, NULL), PLUMB_OK);
    (void)unlink(path);
    const struct plumb_name_map *const both[] = {&map, &again};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(both[i]->count, 4);
        assert_string_equal(
            plumb_name_map_get_in(both[i], "ParallelAttention", "flash_attention_score"),
            "core.npu_fusion_attention");
        assert_string_equal(plumb_name_map_get_in(both[i], "Norm", "RmsNorm"), "npu_rms_norm");
        assert_string_equal(plumb_name_map_get(both[i], "flat"), "name");
        assert_null(plumb_name_map_get(both[i], "RmsNorm"));
        assert_null(plumb_name_map_get_in(both[i], "TopLayer", "RmsNorm"));
    }
    plumb_name_map_release(&map);
    plumb_name_map_release(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_writing_gives_the_same),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(many_names_fit),
        cmocka_unit_test(maps_of_layers_are_read_and_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
