/* test_logs.c - logs and tables of losses open as runs that have series; what is torn is told. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/wire.h"
#include "plumb.h"
#include "unit/log_samples.h"
#include "unit/scratch_group.h"

static struct plumb_run *open_run(const char *name)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    assert_true(plumb_run_is(scratch_path(&scratch, name)));
    if (plumb_run_open(scratch_path(&scratch, name), &run, &error))
        fail_msg("%s", error.message);
    return run;
}

/* "loss 1=2.5 2=2;lr 1=0.1;" */
static void describe(const struct plumb_run *run, struct plumb_buffer *to)
{
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        plumb_buffer_printf(to, "%s", series->name);
        for (size_t k = 0; k < series->count; k++) {
            char text[40];
            int digits = 6;
            do
                (void)snprintf(text, sizeof text, "%.*g", digits, series->values[k]);
            while (strtod(text, NULL) != series->values[k] && digits++ < 17);
            plumb_buffer_printf(to, " %lld=%s", (long long)series->steps[k],
                                isnan(series->values[k]) ? "nan" : text);
        }
        plumb_buffer_text(to, ";");
    }
}

static void expect(const struct plumb_run *run, const char *series)
{
    struct plumb_buffer text;
    plumb_buffer_init(&text, 1 << 16);
    describe(run, &text);
    assert_string_equal(plumb_buffer_string(&text), series);
    plumb_buffer_release(&text);
}

static void every_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof log_samples / sizeof *log_samples; i++) {
        scratch_text(&scratch, "log", log_samples[i].text);
        struct plumb_run *run = open_run("log");
        assert_string_equal(plumb_run_format(run), log_samples[i].format);
        expect(run, log_samples[i].series);
        plumb_run_close(run);
    }
}

static bool has_warning(const struct plumb_run *run, const char *part)
{
    for (size_t i = 0; i < plumb_run_warning_count(run); i++)
        if (strstr(plumb_run_warning(run, i), part))
            return true;
    return false;
}

static void torn_and_odd_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *series, *warning;
    } cases[] = {
        {"step,loss\n1,2.5\n2\n3,1\n", "loss 1=2.5 3=1;", "1 lines have another number"},
        {"{\"step\":1,\"loss\":2}\n{\"step\":2,\"lo", "loss 1=2;", "line 2 is not finished"},
        {"{\"step\":1,\"loss\":2}\nxx\n", "loss 1=2;", "the first is line 2"},
        {"{\"log_history\": [{\"loss\": 2, \"step\": 1}, {\"loss\": 1, \"st", "loss 1=2;",
         "not whole from byte"},
        {"step 1 loss 4\nstep 2 loss 3\nstep 3 loss 2\nstep 2 loss 2.5\nstep 2 loss 2.5\n",
         "loss 1=4 2=2.5;", "steps go back; 2 points are replaced"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_text(&scratch, "torn", cases[i].text);
        struct plumb_run *run = open_run("torn");
        expect(run, cases[i].series);
        if (!has_warning(run, cases[i].warning))
            fail_msg("case %zu has no such warning", i);
        plumb_run_close(run);
    }
}

/* Nobody writes it any more: a missing newline costs nothing. While somebody does, the last number
 * may get more digits. */
static void last_lines_without_end(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "step 1 loss 2.5\nstep 2 loss 2.25", "step,loss\n1,2.5\n2,2.25",
        "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":2.25}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scratch_text(&scratch, "endless", texts[i]);
        struct plumb_run *run = open_run("endless");
        expect(run, "loss 1=2.5 2=2.25;");
        assert_int_equal(plumb_run_warning_count(run), 0);
        plumb_run_close(run);
        FILE *writer = fopen(scratch_path(&scratch, "endless"), "a");
        assert_non_null(writer);
        run = open_run("endless");
        const bool object = texts[i][0] == '{'; /* that is closed cannot go on */
        expect(run, object ? "loss 1=2.5 2=2.25;" : "loss 1=2.5;");
        assert_true(has_warning(run, "is being written") == !object);
        plumb_run_close(run);
        assert_int_equal(fclose(writer), 0);
    }
}

static void other_texts_are_no_logs(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "This is not a tensor file.\n",
        "a,b\n1,2\n",
        "step\nloss\n",
        "{\"weight_map\": {}}",
        "{\"a\": 1}\n",
        "[1, 2]",
        "step loss\n",
        "1,2,3\n4,5,6\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scratch_text(&scratch, "other", texts[i]);
        if (plumb_run_is(scratch_path(&scratch, "other")))
            fail_msg("taken for a log: %s", texts[i]);
    }
}

/* A log that grows is read again. */
static void refreshed(void **state)
{
    (void)state;
    struct plumb_error error;
    scratch_text(&scratch, "grows", "step 1 loss 4\n");
    struct plumb_run *run = open_run("grows");
    scratch_text(&scratch, "grows", "step 1 loss 4\nstep 2 loss 3\n");
    assert_int_equal(plumb_run_refresh(run, &error), PLUMB_OK);
    expect(run, "loss 1=4 2=3;");
    plumb_run_close(run);
}

/* ---- event files -------------------------------------------------------------------------------- */

static void put_record(struct plumb_buffer *to, const struct plumb_buffer *event, bool spoil)
{
    unsigned char head[12], tail[4];
    plumb_store_u64(head, event->size);
    uint32_t crc = plumb_crc32c(head, 8);
    plumb_store_u32(head + 8, (crc >> 15 | crc << 17) + 0xa282ead8U);
    crc = plumb_crc32c(event->data, event->size);
    plumb_store_u32(tail, ((crc >> 15 | crc << 17) + 0xa282ead8U) ^ spoil);
    plumb_buffer_append(to, head, sizeof head);
    plumb_buffer_append(to, event->data, event->size);
    plumb_buffer_append(to, tail, sizeof tail);
}

enum scalar { SIMPLE, MINDSPORE, TENSOR_FLOAT, TENSOR_CONTENT };

static void put_scalar(struct plumb_buffer *to, const char *tag, uint64_t step, float value,
                       enum scalar kind, bool spoil)
{
    struct plumb_buffer event, summary, one, tensor;
    struct plumb_buffer *const all[] = {&event, &summary, &one, &tensor};
    unsigned char bytes[4];
    memcpy(bytes, &value, sizeof bytes);
    for (size_t i = 0; i < 4; i++)
        plumb_buffer_init(all[i], 1 << 12);
    plumb_wire_put_text(&one, 1, tag);
    if (kind == SIMPLE || kind == MINDSPORE) {
        plumb_wire_put_varint(&one, (kind == SIMPLE ? 2U : 3U) << 3 | 5U);
        plumb_buffer_append(&one, bytes, 4);
    } else {
        plumb_wire_put_number(&tensor, 1, 1);
        plumb_wire_put_head(&tensor, kind == TENSOR_FLOAT ? 5 : 4, 4);
        plumb_buffer_append(&tensor, bytes, 4);
        plumb_wire_put_head(&one, 8, tensor.size);
        plumb_buffer_append(&one, tensor.data, tensor.size);
    }
    plumb_wire_put_head(&summary, 1, one.size);
    plumb_buffer_append(&summary, one.data, one.size);
    if (step)
        plumb_wire_put_number(&event, 2, step);
    plumb_wire_put_head(&event, 5, summary.size);
    plumb_buffer_append(&event, summary.data, summary.size);
    put_record(to, &event, spoil);
    for (size_t i = 0; i < 4; i++)
        plumb_buffer_release(all[i]);
}

static void put_version(struct plumb_buffer *to)
{
    struct plumb_buffer event;
    plumb_buffer_init(&event, 1 << 12);
    plumb_wire_put_text(&event, 3, "brain.Event:2");
    put_record(to, &event, false);
    plumb_buffer_release(&event);
}

static void save(const char *name, const struct plumb_buffer *bytes, size_t size)
{
    FILE *file = fopen(scratch_path(&scratch, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void checksum(void **state)
{
    (void)state;
    assert_int_equal(plumb_crc32c("123456789", 9), 0xe3069283U);
    assert_int_equal(plumb_crc32c("", 0), 0);
}

static void event_files(void **state)
{
    (void)state;
    struct plumb_buffer file;
    plumb_buffer_init(&file, 1 << 16);
    put_version(&file);
    put_scalar(&file, "train/loss", 0, 2.5F, SIMPLE, false);
    put_scalar(&file, "train/loss", 1, 2, MINDSPORE, false);
    put_scalar(&file, "train/loss", 2, 1.5F, TENSOR_FLOAT, false);
    put_scalar(&file, "train/loss", 3, (float)NAN, TENSOR_CONTENT, false);
    const size_t before = file.size;
    put_scalar(&file, "train/loss", 4, 9, SIMPLE, true);
    put_scalar(&file, "lr", 4, 0.5F, SIMPLE, false);
    save("events", &file, file.size);
    struct plumb_run *run = open_run("events");
    assert_string_equal(plumb_run_format(run), "tfevents");
    expect(run, "train/loss 0=2.5 1=2 2=1.5 3=nan;lr 4=0.5;");
    assert_true(has_warning(run, "1 records do not match their checksum"));
    plumb_run_close(run);
    for (size_t size = before + 1; size < file.size; size++) { /* a directory, the second cut */
        if (size == before + 1) {
            scratch_directory(&scratch, "tb");
            save("tb/events.out.tfevents.1.host", &file, before);
        }
        save("tb/events.out.tfevents.2.host", &file, size);
        run = open_run("tb");
        assert_true(plumb_run_find_series(run, "train/loss", -1)->count == 4);
        assert_true(plumb_run_warning_count(run) > 0);
        plumb_run_close(run);
    }
    plumb_buffer_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
        cmocka_unit_test(torn_and_odd_lines),
        cmocka_unit_test(last_lines_without_end),
        cmocka_unit_test(refreshed),
        cmocka_unit_test(other_texts_are_no_logs),
        cmocka_unit_test(checksum),
        cmocka_unit_test(event_files),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
