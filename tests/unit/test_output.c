/* test_output.c - a file appears whole or not at all. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/map.h"
#include "base/output.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/plumb-test-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int files_in_directory(void)
{
    DIR *dir = opendir(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

static void committed_file_holds_everything(void **state)
{
    (void)state;
    struct plumb_output *output = NULL;
    assert_int_equal(plumb_output_open(path_of("whole"), &output, NULL), PLUMB_OK);
    static char large[700000];
    memset(large, 'x', sizeof large);
    assert_int_equal(plumb_output_write(output, "head", 4, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_write(output, large, sizeof large, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_fill(output, '\0', 1000, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_patch(output, 0, "HE", 2, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_write(output, "tail", 4, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_size(output), 4 + sizeof large + 1000 + 4);
    assert_int_equal(access(path_of("whole"), F_OK), -1);
    assert_int_equal(plumb_output_commit(output, NULL), PLUMB_OK);
    plumb_output_close(output);
    struct plumb_map *map = NULL;
    assert_int_equal(plumb_map_open(path_of("whole"), &map, NULL), PLUMB_OK);
    assert_int_equal(map->size, 4 + sizeof large + 1000 + 4);
    assert_memory_equal(map->base, "HEadxx", 6);
    assert_memory_equal(map->base + map->size - 5, "\0tail", 5);
    plumb_map_close(map);
    assert_int_equal(unlink(path_of("whole")), 0);
}

static void abandoned_file_leaves_nothing(void **state)
{
    (void)state;
    struct plumb_output *output = NULL;
    assert_int_equal(plumb_output_open(path_of("half"), &output, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_write(output, "half", 4, NULL), PLUMB_OK);
    plumb_output_close(output);
    assert_int_equal(files_in_directory(), 0);
}

static void impossible_places_are_named(void **state)
{
    (void)state;
    struct plumb_output *output = NULL;
    struct plumb_error error;
    assert_int_equal(plumb_output_open("/nowhere/at/all.npy", &output, &error), PLUMB_IO);
    assert_non_null(strstr(error.message, "/nowhere/at/all.npy"));
    assert_int_equal(plumb_output_open(directory, &output, &error), PLUMB_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(committed_file_holds_everything),
        cmocka_unit_test(abandoned_file_leaves_nothing),
        cmocka_unit_test(impossible_places_are_named),
    };
    if (!mkdtemp(directory))
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)rmdir(directory);
    return failed;
}
