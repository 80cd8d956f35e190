/*
 * test_recording.c - recording changes nothing: the same bits with and without, at every level;
 * trouble with the disk ends the recording and not the training; and no recorded byte names the
 * fault.
 */
#include "run_lab.h"

#include <ftw.h>

#include "lab_run_folder.h"

static char *output_of(const char *arguments)
{
    char out[256];
    temporary(out, sizeof out, "printed");
    if (run_lab(out, arguments) != 0)
        fail_msg("build/lab %s failed", arguments);
    char *text = read_text(out);
    unlink(out);
    return text;
}

static void same_bits_when_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *training, *recording;
    } cases[] = {
        {"train --net mlp --steps 20", "--level op"},
        {"train --net mlp --steps 20", "--level watch"},
        {"train --net mlp --steps 20", "--level op --save fingerprint"},
        {"train --net mlp --steps 5", "--level op --save tensors"},
        {"train --net cnn --steps 10", "--level op --record-steps 3,5-7"},
        {"train --net gpt --steps 10 --dtype f16", "--level op"},
        {"train --net gpt --steps 10 --ranks 4", "--level op"},
        {"train --net mlp --steps 10 --fault nan-sample", "--level op"},
    };
    char run[256], arguments[600];
    temporary(run, sizeof run, "run");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        remove_tree(run);
        snprintf(arguments, sizeof arguments, "%s %s --out %s", cases[i].training,
                 cases[i].recording, run);
        char *watched = output_of(arguments), *alone = output_of(cases[i].training);
        assert_string_equal(watched, alone);
        free(watched);
        free(alone);
        snprintf(arguments, sizeof arguments, "%s/rank0000/records.plumb", run);
        struct stat status;
        assert_int_equal(stat(arguments, &status), 0);
        assert_true(status.st_size > 1000);
    }
    remove_tree(run);
}

static void trains_on_without_a_place_to_record(void **state)
{
    (void)state;
    char out[256], told[256];
    temporary(out, sizeof out, "printed");
    temporary(told, sizeof told, "told");
    assert_int_equal(run_lab_with(out, told, "train --steps 5 --out /dev/null/run"), 0);
    char *text = read_text(out), *alone = output_of("train --steps 5"),
         *message = read_text(told);
    assert_string_equal(text, alone);
    assert_memory_equal(message, "lab: ", 5);
    assert_ptr_equal(strchr(message, '\n'), message + strlen(message) - 1); /* one line */
    free(text);
    free(alone);
    free(message);
    unlink(out);
    unlink(told);
}

static const char *searched; /* nftw has no context */
static int holding;

static int search_entry(const char *path, const struct stat *status, int type,
                        struct FTW *where)
{
    (void)where;
    if (type != FTW_F)
        return 0;
    char *bytes = malloc((size_t)status->st_size + 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(bytes);
    assert_non_null(file);
    size_t size = fread(bytes, 1, (size_t)status->st_size, file);
    holding += memmem(bytes, size, searched, strlen(searched)) != NULL;
    fclose(file);
    free(bytes);
    return 0;
}

static int files_holding(const char *folder, const char *text)
{
    searched = text;
    holding = 0;
    assert_int_equal(nftw(folder, search_entry, 8, FTW_PHYS), 0);
    return holding;
}

static void no_fault_is_named(void **state)
{
    (void)state;
    char out[256], run[256], arguments[600];
    temporary(out, sizeof out, "faults");
    temporary(run, sizeof run, "run");
    assert_int_equal(run_lab(out, "faults"), 0);
    char *text = read_text(out);
    for (char *line = text, *next; *line; line = next) {
        char name[64];
        next = strchr(line, '\n') + 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " "), line);
        remove_tree(run);
        snprintf(arguments, sizeof arguments, "train --steps 2 --fault %s --out %s", name, run);
        free(output_of(arguments));
        assert_true(files_holding(run, "grad_norm") > 0);
        if (files_holding(run, name) || files_holding(run, "fault"))
            fail_msg("the run of %s names it", name);
    }
    remove_tree(run);
    free(text);
    unlink(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_when_recorded),
        cmocka_unit_test(trains_on_without_a_place_to_record),
        cmocka_unit_test(no_fault_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
