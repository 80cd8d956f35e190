/*
 * test_damaged_records.c - logs, tables and dumps of other tools, cut at every byte and with every
 * byte changed: what is whole is read, what is missing is told, and nothing crashes.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "property/exercise_records.h"
#include "unit/log_samples.h"
#include "unit/msprobe_samples.h"

static void check(const char *complaint, const char *what, size_t at)
{
    if (complaint)
        fail_msg("%s, byte %zu: %s", what, at, complaint);
}

static void damage(const char *what, const char *text, size_t size, bool grows)
{
    struct exercise_found whole, found, before = {0};
    unsigned char *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, text, size);
    check(exercise_records(bytes, size, true, &whole), what, size);
    assert_true(whole.opened && whole.records + whole.points > 0);
    for (size_t cut = 1; cut <= size; cut++) {
        check(exercise_records(bytes, cut, cut % 16 == 0, &found), what, cut);
        /* A longer piece tells no less, and a piece of a dump says that it is one. */
        if (grows && found.records < before.records)
            fail_msg("%s, byte %zu: fewer records than a byte before", what, cut);
        if (grows && found.opened && cut < size && !found.warnings)
            fail_msg("%s, byte %zu: cut off, and not a word", what, cut);
        before = found;
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (unsigned char)(1U << (i % 8));
        check(exercise_records(bytes, size, i % 16 == 0, &found), what, i);
        bytes[i] ^= (unsigned char)(1U << (i % 8));
        bytes[i] ^= 0x80;
        check(exercise_records(bytes, size, false, &found), what, i);
        bytes[i] ^= 0x80;
    }
    free(bytes);
}

static void dumps(void **state)
{
    (void)state;
    damage("msprobe", msprobe_dump, sizeof msprobe_dump - 1, true);
}

static void logs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof log_samples / sizeof *log_samples; i++)
        damage(log_samples[i].format, log_samples[i].text, strlen(log_samples[i].text), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dumps), cmocka_unit_test(logs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
