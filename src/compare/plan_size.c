/* plan_size.c - how large and how long the next capture will be, from what A recorded. */
#include "compare/plan_capture.h"

#include "base/text.h"
#include "model/dtype.h"
#include "model/file.h"

enum { RECORD_BYTES = 220 }; /* of a tensor record on disk with its share of the texts */

struct gathering {
    const char *ops; /* NULL: all */
    int64_t at;      /* of the step that is counted; INT64_MIN: the first that comes */
    uint64_t records, bytes;
};

static bool count_record(void *context, const struct plumb_tensor_record *record)
{
    struct gathering *gathering = context;
    if (gathering->at == INT64_MIN)
        gathering->at = record->step;
    if (record->step != gathering->at)
        return false;
    if (gathering->ops && !plumb_text_matches(gathering->ops, record->label))
        return true;
    int64_t count = 0;
    gathering->records++;
    if (plumb_shape_count(record->dims, record->shape, &count))
        gathering->bytes += (uint64_t)count * plumb_dtype_size(record->dtype);
    return true;
}

struct pace {
    int64_t total_ns;
    uint64_t steps;
};

static bool add_step(void *context, const struct plumb_run_step *step)
{
    struct pace *pace = context;
    pace->total_ns += step->end_ns - step->begin_ns;
    pace->steps++;
    return true;
}

enum plumb_status plumb_plan_estimate(struct plumb_plan *plan, int64_t step,
                                      struct plumb_error *err)
{
    struct plumb_run *run = plan->diff->a;
    if (!plumb_run_rank_count(run))
        return PLUMB_OK;
    const bool values = plan->save[0] == 't';
    struct gathering gathering = {.ops = plan->ops, .at = values ? step : INT64_MIN};
    struct pace pace = {0};
    const struct plumb_run_query records = {.rank = plan->diff->roots[0].rank,
                                            .some_steps = values,
                                            .first_step = step,
                                            .last_step = step};
    const struct plumb_run_query all = {.rank = records.rank};
    enum plumb_status status =
        plumb_run_visit_records(run, &records, count_record, &gathering, err);
    if (!status)
        status = plumb_run_visit_steps(run, &all, add_step, &pace, err);
    if (status)
        return status;
    plan->knows_bytes = gathering.records > 0 && plan->diff->blame.rows > 0;
    plan->bytes = gathering.records * RECORD_BYTES + (values ? gathering.bytes : 0);
    plan->knows_time = pace.steps > 0 && pace.total_ns > 0;
    if (plan->knows_time)
        plan->time_ns = (int64_t)((double)pace.total_ns / (double)pace.steps *
                                  ((double)plan->last_step + 1));
    return PLUMB_OK;
}

struct looking {
    int64_t step, before;
};

static bool take_step(void *context, const struct plumb_tensor_record *record)
{
    struct looking *looking = context;
    if (record->step < looking->step && record->step > looking->before)
        looking->before = record->step;
    return true;
}

enum plumb_status plumb_plan_step_before(struct plumb_plan *plan, int rank, int64_t step,
                                         int64_t *before, struct plumb_error *err)
{
    const struct plumb_run_query query = {
        .rank = rank, .some_steps = true, .first_step = INT64_MIN, .last_step = step - 1};
    struct looking a = {step, INT64_MIN}, b = {step, INT64_MIN};
    enum plumb_status status =
        plumb_run_visit_records(plan->diff->a, &query, take_step, &a, err);
    if (!status)
        status = plumb_run_visit_records(plan->diff->b, &query, take_step, &b, err);
    *before = a.before < b.before ? a.before : b.before;
    return status;
}
