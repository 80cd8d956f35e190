/* test_dumps.c - dumps of MindSpore, TroubleShooter and CATCH open as runs. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

static char seen[4096]; /* "step label phase slot dtype max;" of every record */

static void make_directories(const char *path)
{
    char copy[400];
    (void)snprintf(copy, sizeof copy, "%s", path);
    for (char *slash = copy; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(scratch_path(&scratch, copy), 0700);
        *slash = '/';
    }
    (void)mkdir(scratch_path(&scratch, copy), 0700);
}

static void save(const char *directory, const char *name, float first, float second)
{
    const float values[2] = {first, second};
    const int64_t shape[1] = {2};
    const struct plumb_value value = {"x", PLUMB_F32, 1, shape, values};
    char path[400];
    struct plumb_error error;
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    if (plumb_write_file(scratch_path(&scratch, path), "npy", &value, 1, &error))
        fail_msg("%s", error.message);
}

static bool note(void *context, const struct plumb_tensor_record *record)
{
    (void)context;
    const size_t length = strlen(seen);
    char max[32] = "?";
    if (record->has_stats)
        (void)snprintf(max, sizeof max, "%g%s%s", record->stats.max,
                       record->stats.nan ? " nan" : "", record->stats.pos_inf ? " inf" : "");
    (void)snprintf(seen + length, sizeof seen - length, "%lld %s %s %s %s %s;",
                   (long long)record->step, record->label, plumb_phase_name(record->phase),
                   record->slot, plumb_dtype_name(record->dtype), max);
    return true;
}

static struct plumb_run *open_run(const char *name)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    if (plumb_run_open(scratch_path(&scratch, name), &run, &error))
        fail_msg("%s", error.message);
    seen[0] = '\0';
    assert_int_equal(plumb_run_visit_records(run, NULL, note, NULL, &error), PLUMB_OK);
    return run;
}

static bool has_warning(const struct plumb_run *run, const char *part)
{
    for (size_t i = 0; i < plumb_run_warning_count(run); i++)
        if (strstr(plumb_run_warning(run, i), part))
            return true;
    return false;
}

/* ---- MindSpore ---------------------------------------------------------------------------------- */

static void make_kernels(const char *root)
{
    char step[256], order[256];
    (void)snprintf(step, sizeof step, "%s/rank_0/Net/0/7", root);
    (void)snprintf(order, sizeof order, "%s/rank_0/execution_order", root);
    make_directories(step);
    make_directories(order);
    /* By name MatMul comes before Relu, by time after it: the csv knows. */
    save(step,
         "MatMul.Default_network-WithLossCell__backbone-Net_my_fc-Dense_MatMul-op0.0.0.300."
         "input.0.DefaultFormat.Float32.npy",
         1, 2);
    save(step,
         "MatMul.Default_network-WithLossCell__backbone-Net_my_fc-Dense_MatMul-op0.0.0.301."
         "output.0.DefaultFormat.Float32.npy",
         3, (float)NAN);
    save(step,
         "ReLU.Default_network-WithLossCell__backbone-Net_act-ReLU_ReLU-op0.0.0.100.output."
         "0.DefaultFormat.npy",
         4, 5);
    save(step,
         "MatMul.Gradients_Default_network-WithLossCell__backbone-Net_my_fc-Dense_"
         "Grad_MatMul_MatMul-op1.0.0.200.output.0.DefaultFormat.Float32.npy",
         6, 7);
    save(step, "Parameter.my_fc_weight.0.0.999.output.0.DefaultFormat.Float32.npy", 8, 9);
    save(step, "0123456789abcdef0123456789abcdef.npy", 10, 11);
    (void)snprintf(step, sizeof step, "%s/rank_0/Net/0/7/mapping.csv", root);
    scratch_text(
        &scratch, step,
        "0123456789abcdef0123456789abcdef.npy,ApplyMomentum.Default_optimizer-Momentum_"
        "ApplyMomentum-op0.0.0.500.output.0.DefaultFormat.Float32.npy\n");
}

static void mindspore_kernels(void **state)
{
    (void)state;
    make_kernels("ms");
    scratch_text(&scratch, "ms/rank_0/execution_order/ms_execution_order_graph_0.csv",
                 "NodeExecutionOrder-FullNameWithScope\n"
                 "Default/network-WithLossCell/_backbone-Net/my_fc-Dense/MatMul-op0\n"
                 "Default/network-WithLossCell/_backbone-Net/act-ReLU/ReLU-op0\n"
                 "Gradients/Default/network-WithLossCell/_backbone-Net/my_fc-Dense/Grad_MatMul/"
                 "MatMul-op1\n"
                 "Default/optimizer-Momentum/ApplyMomentum-op0\n");
    assert_true(plumb_run_is(scratch_path(&scratch, "ms")));
    struct plumb_run *run = open_run("ms");
    assert_string_equal(plumb_run_format(run), "mindspore-dump");
    assert_string_equal(seen, "7 my_fc.MatMul forward input0 f32 2;"
                              "7 my_fc.MatMul forward output0 f32 3 nan;"
                              "7 act.ReLU forward output0 f32 5;"
                              "7 my_fc.MatMul#1 backward output0 f32 7;"
                              "7 optimizer.ApplyMomentum optimizer output0 f32 11;"
                              "7 Parameter optimizer param:my_fc_weight f32 9;");
    assert_int_equal(plumb_run_rank(run, 0)->records, 6);
    struct plumb_file *file = NULL;
    struct plumb_error error;
    assert_int_equal(plumb_run_open_values(run, 0, 7, &file, &error), PLUMB_OK);
    assert_non_null(plumb_file_find(file, "0123456789abcdef0123456789abcdef.npy"));
    plumb_file_close(file);
    plumb_run_close(run);
    run = open_run("ms/rank_0"); /* a rank alone */
    assert_int_equal(plumb_run_rank(run, 0)->records, 6);
    plumb_run_close(run);
}

static void mindspore_without_order(void **state)
{
    (void)state;
    make_kernels("bare");
    struct plumb_run *run = open_run("bare");
    const char *first = strstr(seen, "ReLU"), *second = strstr(seen, "MatMul#1"),
               *third = strstr(seen, "MatMul forward");
    assert_true(first && second && third && first < second && second < third);
    plumb_run_close(run);
}

static void mindspore_statistics(void **state)
{
    (void)state;
    make_directories("stat/rank_3/Net/0/12");
    scratch_text(
        &scratch, "stat/rank_3/Net/0/12/statistic.csv",
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,"
        "Max Value,Min Value,Avg Value,L2Norm Value\n"
        "Conv2D,Default/network-WithLossCell/_backbone-Net/conv-Conv2d/Conv2D-op0,0,0,5,"
        "input,0,512,float32,\"(8,4)\",2.5,-1,0.5,3\n"
        "Conv2D,Default/network-WithLossCell/_backbone-Net/conv-Conv2d/Conv2D-op0,0,0,6,"
        "output,0,512,float16,\"(8,4)\",inf,-1,nan,inf\n"
        "Conv2D,Default/x-op0,0,0,6,output,0,512,mystery,\"(8)\",1,1,1,1\n"
        "Conv2D,Default/net");
    struct plumb_run *run = open_run("stat");
    assert_string_equal(seen, "12 conv.Conv2D forward input0 f32 2.5;"
                              "12 conv.Conv2D forward output0 f16 nan inf;");
    assert_true(has_warning(run, "2 rows are not whole or of an unknown type"));
    assert_int_equal(plumb_run_rank(run, 0)->rank, 3);
    plumb_run_close(run);
}

/* ---- TroubleShooter and plain arrays ---------------------------------------------------------------- */

static void npy_directory(void **state)
{
    (void)state;
    make_directories("ts");
    save("ts", "attn.1_float32_2.npy", 1, 2);
    save("ts", "loss_float32_10.npy", 3, 4);
    save("ts", "attn.1_float32_11.npy", 5, 6);
    save("ts", "attn_backward_float32_3.npy", 7, 8);
    save("ts", "plain.npy", 9, 10);
    scratch_text(&scratch, "ts/broken_float32_4.npy", "not an array");
    assert_false(plumb_run_is(scratch_path(&scratch, "ts"))); /* plumb show lists tensors */
    struct plumb_run *run = open_run("ts");
    assert_string_equal(plumb_run_format(run), "npy-dump");
    const char *const order[] = {"attn forward output1 f32 2;", "attn backward output0 f32 8;",
                                 "loss forward output0 f32 4;",
                                 "attn#1 forward output1 f32 6;"};
    const char *at = seen;
    for (size_t i = 0; i < 4; i++) {
        at = strstr(at, order[i]);
        if (!at)
            fail_msg("%s is not in its place in %s", order[i], seen);
    }
    assert_non_null(strstr(seen, "plain forward output0 f32 10;"));
    assert_true(has_warning(run, "1 files cannot be read"));
    plumb_run_close(run);
}

/* ---- CATCH --------------------------------------------------------------------------------------------- */

static void catch_text(void **state)
{
    (void)state;
    make_directories("catch/2_relu");
    make_directories("catch/10_conv2d/1_permute");
    scratch_text(&scratch, "catch/2_relu/mlu_self",
                 "Tensor : Type = Float : Shape = [2, 2] : Stride = [2, 1] : Dumped = 4\n"
                 "0.5\n-1\nnan\n2\n");
    scratch_text(&scratch, "catch/2_relu/cnnl_result",
                 "Tensor : Type = Half : Shape = [3] : Stride = [1] : Dumped = 3\n1\n2\ninf\n");
    scratch_text(&scratch, "catch/10_conv2d/mlu_weight",
                 "Tensor : Type = Float : Shape = [100] : Stride = [1] : Dumped = 10\n1\n");
    scratch_text(&scratch, "catch/10_conv2d/mlu_index",
                 "Tensor : Type = Long : Shape = [1] : Stride = [1] : Dumped = 1\n7\n");
    scratch_text(&scratch, "catch/10_conv2d/mlu_stride", "List : 2\n1\n1\n");
    scratch_text(&scratch, "catch/10_conv2d/1_permute/cnnl_result",
                 "Tensor : Type = Float : Shape = [2] : Stride = [1] : Dumped = 2\n1\n");
    scratch_text(&scratch, "catch/10_conv2d/cpu_result",
                 "Tensor : Type = Int : Shape = [1] : Stride = [1] : Dumped = 1\n3\n");
    struct plumb_run *run = open_run("catch");
    assert_string_equal(plumb_run_format(run), "catch-dump");
    assert_string_equal(seen, "0 relu forward input:self f32 2 nan;"
                              "0 relu forward output0 f16 2 inf;"
                              "0 conv2d forward input:index i64 ?;"
                              "0 conv2d forward input:weight f32 ?;"
                              "0 conv2d forward reference0 i32 3;");
    assert_int_equal(plumb_run_rank(run, 0)->records, 5);
    assert_true(has_warning(run, "1 tensors are not whole"));
    assert_true(has_warning(run, "of 1 tensors only the first values"));
    assert_true(has_warning(run, "1 tensors of 64-bit integers"));
    plumb_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mindspore_kernels),    cmocka_unit_test(mindspore_without_order),
        cmocka_unit_test(mindspore_statistics), cmocka_unit_test(npy_directory),
        cmocka_unit_test(catch_text),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
