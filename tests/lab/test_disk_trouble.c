/*
 * test_disk_trouble.c - a disk that is full, read-only, limited or taken away ends the recording
 * and not the training: the same losses, one line on stderr, and what was written can be read.
 */
#include "run_lab.h"

#include "lab_run_folder.h"

#define TRAINING "train --net mlp --steps 400"

static char run[300], copy[256], out[256], told[256], shown[256];

static int run_shell(const char *script)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(98);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/* `before` is run in the shell that then trains, `after` when the training has begun, `last` when
 * it is over. */
static int train_in_trouble(const char *before, const char *after, const char *last)
{
    char script[4000];
    snprintf(script, sizeof script,
             "%s || exit 77\nbuild/lab " TRAINING " --out %s >%s 2>%s &\n%s\nwait $!\n"
             "status=$?\n%s\nexit $status",
             before, run, out, told, after, last);
    return run_shell(script);
}

static void expect_same_losses_and_one_line(const char *reason)
{
    char alone_path[256];
    temporary(alone_path, sizeof alone_path, "alone");
    assert_int_equal(run_lab(alone_path, TRAINING), 0);
    char *alone = read_text(alone_path), *text = read_text(out), *message = read_text(told);
    assert_string_equal(text, alone);
    assert_memory_equal(message, "lab: ", 5);
    assert_ptr_equal(strchr(message, '\n'), message + strlen(message) - 1);
    if (!strstr(message, reason))
        fail_msg("'%s' is not in: %s", reason, message);
    free(alone);
    free(text);
    free(message);
    unlink(alone_path);
}

static void expect_readable(const char *path)
{
    char script[1400];
    snprintf(script, sizeof script,
             "build/plumb show %s >%s && grep -q ', stopped; 1 rank' %s && grep -q loss %s",
             path, shown, shown, shown);
    assert_int_equal(run_shell(script), 0);
}

static int prepare(void **state)
{
    (void)state;
    temporary(run, sizeof run, "run");
    temporary(copy, sizeof copy, "copy");
    temporary(out, sizeof out, "printed");
    temporary(told, sizeof told, "told");
    temporary(shown, sizeof shown, "shown");
    return 0;
}

static int clean(void **state)
{
    (void)state;
    remove_tree(run);
    remove_tree(copy);
    unlink(out);
    unlink(told);
    unlink(shown);
    return 0;
}

static void file_size_limit(void **state)
{
    (void)state;
    assert_int_equal(train_in_trouble("ulimit -f 600", ":", ":"), 0);
    expect_same_losses_and_one_line("File too large");
    expect_readable(run);
}

static void directory_taken_away(void **state)
{
    (void)state;
    char after[800];
    snprintf(after, sizeof after,
             "until [ -s %s/rank0000/records.plumb ]; do sleep 0.01; done; rm -rf %s", run,
             run);
    assert_int_equal(train_in_trouble(":", after, ":"), 0);
    expect_same_losses_and_one_line("removed while recording");
}

/* In the shell's own view of the file systems: nothing is left mounted. */
static void mount_and_train(const char *options, const char *reason, bool readable)
{
    char before[1200], last[800];
    if (run_shell("unshare -m true 2>/dev/null") != 0) {
        print_message("SKIPPED: mounting needs root; '%s' is not tried\n", options);
        skip();
    }
    snprintf(before, sizeof before, "mkdir -p %s && mount -t tmpfs -o %s none %s", run, options,
             run);
    snprintf(last, sizeof last, "cp -r %s %s", run, copy);
    char script[4000];
    snprintf(script, sizeof script,
             "unshare -m sh -c '%s || exit 77; build/lab " TRAINING
             " --out %s/here >%s 2>%s; status=$?; %s; exit $status'",
             before, run, out, told, last);
    const int status = run_shell(script);
    if (status == 77) {
        print_message("SKIPPED: a tmpfs cannot be mounted; '%s' is not tried\n", options);
        skip();
    }
    assert_int_equal(status, 0);
    expect_same_losses_and_one_line(reason);
    if (readable) {
        snprintf(last, sizeof last, "%s/here", copy);
        expect_readable(last);
    }
}

static void full_disk(void **state)
{
    (void)state;
    mount_and_train("size=900k", "No space left on device", true);
}

static void read_only_disk(void **state)
{
    (void)state;
    mount_and_train("ro", "Read-only file system", false);
}

/* Root may write everywhere: there it is a place where nobody may make a directory. */
static void read_only_directory(void **state)
{
    (void)state;
    const bool root = geteuid() == 0;
    char before[800];
    snprintf(before, sizeof before, "mkdir %s && chmod 555 %s", copy, copy);
    assert_int_equal(run_shell(before), 0);
    snprintf(run, sizeof run, "%s/run", root ? "/proc/self" : copy);
    assert_int_equal(train_in_trouble(":", ":", ":"), 0);
    expect_same_losses_and_one_line("cannot make the directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(file_size_limit, prepare, clean),
        cmocka_unit_test_setup_teardown(directory_taken_away, prepare, clean),
        cmocka_unit_test_setup_teardown(read_only_directory, prepare, clean),
        cmocka_unit_test_setup_teardown(full_disk, prepare, clean),
        cmocka_unit_test_setup_teardown(read_only_disk, prepare, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
