/*
 * fault.c - finds, parses and installs faults.
 */
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "optimizer.h"
#include "trouble.h"

#define LAB_FAULTS(name) extern const struct lab_fault_family lab_faults_##name;
#include "faults.def"
#undef LAB_FAULTS

static const struct lab_fault_family *const families[] = {
#define LAB_FAULTS(name) &lab_faults_##name,
#include "faults.def"
#undef LAB_FAULTS
};

enum { UNSET = -100 };

const struct lab_fault *lab_fault_at(size_t i, const char **family)
{
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        if (i < families[f]->count) {
            if (family)
                *family = families[f]->name;
            return &families[f]->faults[i];
        }
        i -= families[f]->count;
    }
    return NULL;
}

static const struct lab_fault *find(const char *name, size_t length)
{
    const struct lab_fault *fault;
    for (size_t i = 0; (fault = lab_fault_at(i, NULL)); i++)
        if (strlen(fault->name) == length && memcmp(fault->name, name, length) == 0)
            return fault;
    lab_give_up("there is no fault '%.*s': `lab faults` lists them", (int)length, name);
}

/* "step=K", "layer=L" or "rank=R". */
static void parse_place(const char *text, size_t length, struct lab_fault_request *request)
{
    const struct {
        const char *name;
        int *value;
    } places[] = {
        {"step=", &request->step}, {"layer=", &request->layer}, {"rank=", &request->rank}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        size_t name = strlen(places[i].name);
        if (length <= name || memcmp(text, places[i].name, name) != 0)
            continue;
        char digits[16] = "";
        snprintf(digits, sizeof digits, "%.*s", (int)(length - name), text + name);
        *places[i].value = (int)lab_number("the fault's place", digits, 0, 1000000);
        return;
    }
    lab_give_up("'%.*s' is no place of a fault: step=K, layer=L or rank=R", (int)length, text);
}

void lab_fault_parse(const char *text, struct lab_fault_request *request)
{
    size_t name = strcspn(text, ":@");
    *request = (struct lab_fault_request){find(text, name), true, UNSET, UNSET, UNSET};
    text += name;
    if (*text == ':') {
        size_t length = strcspn(++text, "@");
        bool mild = length == 4 && memcmp(text, "mild", 4) == 0;
        if (!mild && !(length == 6 && memcmp(text, "severe", 6) == 0))
            lab_give_up("a fault is mild or severe, not '%.*s'", (int)length, text);
        request->severe = !mild;
        text += length;
    }
    while (*text == '@' || *text == ',') {
        size_t length = strcspn(++text, ",");
        parse_place(text, length, request);
        text += length;
    }
}

static unsigned net_bit(const struct lab_net_kind *kind)
{
    unsigned bit = 1;
    for (size_t i = 0; lab_net_kind_at(i) != kind; i++)
        bit <<= 1;
    return bit;
}

void lab_fault_require(const struct lab_fault_request *request,
                       const struct lab_fault_given *given, const struct lab_net_kind **kind,
                       int *ranks, enum plumb_dtype *dtype, enum lab_optimizer_kind *optimizer)
{
    const struct lab_fault *fault = request->fault;
    unsigned nets = fault->nets ? fault->nets : LAB_ON_ALL;
    for (size_t i = 0; !given->net && !(nets & net_bit(*kind)); i++)
        *kind = lab_net_kind_at(i);
    if (!(nets & net_bit(*kind)))
        lab_give_up("%s does not exist in %s: use --net %s", fault->name, (*kind)->name,
                    nets & LAB_ON_GPT   ? "gpt"
                    : nets & LAB_ON_MLP ? "mlp"
                                        : "cnn");
    if (*ranks < fault->ranks && given->ranks)
        lab_give_up("%s needs --ranks %d or more", fault->name, fault->ranks);
    *ranks = *ranks < fault->ranks ? fault->ranks : *ranks;
    if (fault->low_precision && *dtype != fault->dtype) {
        if (given->dtype)
            lab_give_up("%s needs --dtype %s", fault->name, plumb_dtype_name(fault->dtype));
        *dtype = fault->dtype;
    }
    if (!fault->needs_optimizer || *optimizer == fault->optimizer ||
        (fault->optimizer == LAB_ADAMW && *optimizer == LAB_ADAM))
        return;
    if (given->optimizer)
        lab_give_up("%s needs --optimizer %s", fault->name,
                    lab_optimizer_name(fault->optimizer));
    *optimizer = fault->optimizer;
}

static int usual_rank(const struct lab_fault_request *request, int ranks)
{
    bool one = request->fault->one_rank || (request->fault->mild_one_rank && !request->severe);
    return !one ? LAB_ALL_RANKS : ranks > 1 ? 1 : 0;
}

void lab_fault_install(struct lab_fault_request *request, struct lab_plan *plan)
{
    const struct lab_fault *fault = request->fault;
    if (request->step == UNSET)
        request->step = fault->midway ? plan->steps / 2 : 0;
    if (request->layer == UNSET)
        request->layer = fault->one_layer ? 1 : LAB_ALL_LAYERS;
    if (request->rank == UNSET)
        request->rank = usual_rank(request, plan->ranks);
    if (fault->at_start && request->step > 0)
        lab_give_up("%s exists only from step 0 on", fault->name);
    if (request->layer >= plan->kind->layers)
        lab_give_up("%s has layers 0 to %d", plan->kind->name, plan->kind->layers - 1);
    if (request->rank >= plan->ranks)
        lab_give_up("there are ranks 0 to %d", plan->ranks - 1);
    plan->changed = plan->usual;
    plan->change_step = request->step;
    plan->change_rank = request->rank;
    fault->apply(&plan->changed, request);
}
