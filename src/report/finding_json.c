/* finding_json.c - see finding_json.h; the keys are a promise (DESIGN, section 6). */
#include "report/finding_json.h"

static void put_string(struct plumb_json_writer *json, const char *key, const char *text)
{
    plumb_json_put_key(json, key);
    plumb_json_put_string(json, text);
}

static void put_where(struct plumb_json_writer *json, const struct plumb_finding *finding)
{
    plumb_json_put_key(json, "where");
    plumb_json_open_object(json);
    if (finding->has_place) {
        plumb_json_put_key(json, "rank");
        plumb_json_put_int(json, finding->rank);
        plumb_json_put_key(json, "step");
        plumb_json_put_int(json, finding->step);
        put_string(json, "op", finding->op);
    }
    if (finding->tensor)
        put_string(json, "tensor", finding->tensor);
    if (finding->element >= 0) {
        plumb_json_put_key(json, "element");
        plumb_json_put_int(json, finding->element);
    }
    plumb_json_close_object(json);
}

static void put_evidence(struct plumb_json_writer *json, const struct plumb_finding *finding)
{
    plumb_json_put_key(json, "evidence");
    plumb_json_open_array(json);
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct plumb_evidence *evidence = &finding->evidence[i];
        plumb_json_open_object(json);
        put_string(json, "what", evidence->what);
        put_string(json, "observed", evidence->observed);
        if (evidence->normal)
            put_string(json, "normal", evidence->normal);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}

void plumb_findings_json(struct plumb_json_writer *json, const struct plumb_finding *findings,
                         size_t count)
{
    plumb_json_put_key(json, "findings");
    plumb_json_open_array(json);
    for (size_t i = 0; i < count; i++) {
        const struct plumb_finding *finding = &findings[i];
        plumb_json_new_line(json);
        plumb_json_open_object(json);
        put_string(json, "id", finding->id);
        put_string(json, "title", finding->title);
        put_string(json, "severity", plumb_severity_name(finding->severity));
        plumb_json_put_key(json, "confidence");
        plumb_json_put_double(json, finding->confidence);
        put_where(json, finding);
        put_evidence(json, finding);
        put_string(json, "cause", finding->cause);
        put_string(json, "fix", finding->fix);
        put_string(json, "next_test", finding->next_test);
        plumb_json_put_key(json, "saves_ns");
        plumb_json_put_null(json);
        plumb_json_put_key(json, "explains");
        plumb_json_open_array(json);
        plumb_json_close_array(json);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}
