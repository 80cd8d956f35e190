/* test_pickle.c - pickles of every protocol as trees, and the ways a hostile one can lie. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/pickle.h"

/* A tree as text: None True 5 1.5 'x' b3 (..) [..] {k: v} {..} <module.name> name(..)#state @ref */
static void describe(struct plumb_buffer *out, struct plumb_pickle_node *node);

static void describe_items(struct plumb_buffer *out, const struct plumb_pickle_node *node,
                           const char *open, const char *close)
{
    plumb_buffer_text(out, open);
    for (uint32_t i = 0; i < node->count; i++) {
        const bool pair = plumb_pickle_is_mapping(node) && i % 2;
        plumb_buffer_text(out, i == 0 ? "" : pair ? ": " : ", ");
        describe(out, node->items[i]);
    }
    plumb_buffer_text(out, close);
}

static void describe_call(struct plumb_buffer *out, const struct plumb_pickle_node *node)
{
    describe(out, node->call->callable);
    describe(out, node->call->arguments);
    if (node->count)
        describe_items(out, node, "+[", "]");
    if (node->call->state) {
        plumb_buffer_text(out, "#");
        describe(out, node->call->state);
    }
}

static void describe_entered(struct plumb_buffer *out, struct plumb_pickle_node *node)
{
    switch (node->kind) {
    case PLUMB_PICKLE_NONE:
        plumb_buffer_text(out, "None");
        break;
    case PLUMB_PICKLE_BOOL:
        plumb_buffer_text(out, node->truth ? "True" : "False");
        break;
    case PLUMB_PICKLE_INT:
        plumb_buffer_printf(out, "%lld", (long long)node->integer);
        break;
    case PLUMB_PICKLE_BIG:
        plumb_buffer_printf(out, "big %s", node->text);
        break;
    case PLUMB_PICKLE_FLOAT:
        plumb_buffer_printf(out, "%.17g", node->real);
        break;
    case PLUMB_PICKLE_STRING:
        plumb_buffer_printf(out, "'%s'", node->text);
        break;
    case PLUMB_PICKLE_BYTES:
        plumb_buffer_printf(out, "b%zu", node->length);
        break;
    case PLUMB_PICKLE_TUPLE:
        describe_items(out, node, "(", ")");
        break;
    case PLUMB_PICKLE_LIST:
        describe_items(out, node, "[", "]");
        break;
    case PLUMB_PICKLE_DICT:
        describe_items(out, node, "{", "}");
        break;
    case PLUMB_PICKLE_SET:
        describe_items(out, node, "{{", "}}");
        break;
    case PLUMB_PICKLE_GLOBAL:
        plumb_buffer_printf(out, "<%s>", node->text);
        break;
    case PLUMB_PICKLE_CALL:
        describe_call(out, node);
        break;
    case PLUMB_PICKLE_PERSISTENT:
        describe_items(out, node, "@", "");
        break;
    }
}

static void describe(struct plumb_buffer *out, struct plumb_pickle_node *node)
{
    if (!plumb_pickle_enter(node)) {
        plumb_buffer_text(out, "...");
        return;
    }
    describe_entered(out, node);
    plumb_pickle_leave(node);
}

static enum plumb_status read_bytes(const void *bytes, size_t size, struct plumb_arena *arena,
                                    struct plumb_pickle *pickle, struct plumb_error *err)
{
    const struct plumb_pickle_source source = {
        .label = "test.pkl", .bytes = bytes, .size = size, .offset = 1000};
    return plumb_pickle_read(&source, arena, pickle, err);
}

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t size;
    const char *tree;
} sound[] = {
    /* Python 3.11's pickle.dumps() of small objects, protocol 0 to 5. */
    {BYTES("(dp0\nVa\np1\nI1\nsVb\np2\n(lp3\nI01\naI00\naNas."),
     "{'a': 1, 'b': [True, False, None]}"},
    {BYTES("I-5\n."), "-5"},
    {BYTES("L1180591620717411303424L\n."), "big 1180591620717411303424"},
    {BYTES("L9223372036854775807L\n."), "9223372036854775807"},
    {BYTES("L-9223372036854775808L\n."), "-9223372036854775808"},
    {BYTES("L9223372036854775808L\n."), "big 9223372036854775808"},
    {BYTES("F1.5\n."), "1.5"},
    {BYTES("F-inf\n."), "-inf"},
    {BYTES("S'a\\n\\x41\\''\np0\n."), "'a\nA''"},
    {BYTES("Vh\xe9\\u0041\\\n."), "'h\xc3\xa9"
                                  "A\\'"},
    {BYTES("(I1\nI2\ntp0\n."), "(1, 2)"},
    {BYTES("(S'k'\nI1\nd."), "{'k': 1}"},
    {BYTES("(I7\nicollections\nThing\n."), "<collections.Thing>(7)"},
    {BYTES("(cmod\nCls\nI7\no."), "<mod.Cls>(7)"},
    {BYTES("Pname\n."), "@'name'"},
    {BYTES("\x80\x02]q\x00(K\x01M,\x01J\xff\xff\xff\xff\x8a\x01\x85"
           "e."),
     "[1, 300, -1, -123]"},
    {BYTES("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."),
     "big 119547037146038801333356"},
    {BYTES("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff."),
     "big -18446744073709551616"},
    {BYTES("\x80\x02\x8a\x00."), "0"},
    {BYTES("\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00."), "1.5"},
    {BYTES("\x80\x02U\x02hiX\x01\x00\x00\x00x\x86."), "('hi', 'x')"},
    {BYTES("\x80\x03"
           "C\x03"
           "abcB\x01\x00\x00\x00z\x86."),
     "(b3, b1)"},
    {BYTES("\x80\x02"
           "ccollections\nOrderedDict\nq\x00)Rq\x01X\x01\x00\x00\x00kK\x01s}"
           "X\x01\x00\x00\x00mK\x02sb."),
     "<collections.OrderedDict>()+['k': 1]#{'m': 2}"},
    {BYTES("\x80\x02(X\x01\x00\x00\x00sK\x05tQ."), "@('s', 5)"},
    {BYTES("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8f\x94(K\x01K\x02\x90."), "{{1, 2}}"},
    {BYTES("\x80\x04(K\x03\x91\x94."), "{{3}}"},
    {BYTES("\x80\x04\x8c\x01m\x94\x8c\x01n\x94\x93\x94)\x81\x94}\x94\x8c\x01"
           "aK\x01sb."),
     "<m.n>()#{'a': 1}"},
    {BYTES("\x80\x04\x8c\x01m\x8c\x01n\x93)}\x8c\x01kK\x01s\x92."), "<m.n>()#{'k': 1}"},
    {BYTES("\x80\x05\x96\x02\x00\x00\x00\x00\x00\x00\x00zz\x94\x98."), "b2"},
    {BYTES("\x80\x02K\x01K\x02K\x03\x87."), "(1, 2, 3)"},
    {BYTES("\x80\x02K\x01K\x02"
           "0."),
     "1"},
    {BYTES("\x80\x02K\x01(K\x02K\x03"
           "1."),
     "1"},
    {BYTES("\x80\x02K\x01"
           "2\x86."),
     "(1, 1)"},
    {BYTES("\x80\x02]q\x00h\x00"
           "a."),
     "[...]"},
    {BYTES("\x80\x02K\x05r\x05\x00\x00\x00j\x05\x00\x00\x00\x86."), "(5, 5)"},
};

static void sound_pickles_become_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        struct plumb_arena arena = {.limit = 1 << 20};
        struct plumb_pickle pickle = {0};
        struct plumb_error err = {0};
        struct plumb_buffer text;
        plumb_buffer_init(&text, 4096);
        if (read_bytes(sound[i].bytes, sound[i].size, &arena, &pickle, &err))
            fail_msg("%s: %s", sound[i].tree, err.message);
        assert_int_equal(pickle.used, sound[i].size);
        describe(&text, pickle.root);
        assert_string_equal(plumb_buffer_string(&text), sound[i].tree);
        plumb_buffer_release(&text);
        plumb_arena_release(&arena);
    }
}

static const struct {
    const char *bytes;
    size_t size;
    enum plumb_status status;
    int64_t offset;
    const char *says;
} unsound[] = {
    {BYTES(""), PLUMB_DAMAGED, 1000, "ends before its end mark"},
    {BYTES("\x80\x02K\x01"), PLUMB_DAMAGED, 1004, "ends before its end mark"},
    {BYTES("\x80\x02."), PLUMB_DAMAGED, 1002, "empty stack"},
    {BYTES("\x80\x09."), PLUMB_UNSUPPORTED, 1000, "protocol above 5"},
    {BYTES("\x80\x02\xfe."), PLUMB_DAMAGED, 1002, "unknown opcode 0xfe"},
    {BYTES("\x80\x02\x97."), PLUMB_DAMAGED, 1002, "unknown opcode 0x97"},
    {BYTES("\x80\x02\x82\x01."), PLUMB_DAMAGED, 1002, "unknown opcode 0x82"},
    {BYTES("\x80\x02X\xff\xff\xff\xff"
           "a."),
     PLUMB_DAMAGED, 1002, "middle of an opcode"},
    {BYTES("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
           "a."),
     PLUMB_DAMAGED, 1002, "middle"},
    {BYTES("\x80\x02"
           "K"),
     PLUMB_DAMAGED, 1002, "middle of an opcode"},
    {BYTES("\x80\x02h\x00."), PLUMB_DAMAGED, 1002, "has not described"},
    {BYTES("\x80\x02K\x01r\xff\xff\xff\xff."), PLUMB_LIMIT, 1004, "memo index"},
    {BYTES("\x80\x02t."), PLUMB_DAMAGED, 1002, "needs a mark"},
    {BYTES("\x80\x02(K\x01"
           "d."),
     PLUMB_DAMAGED, 1005, "key without a value"},
    {BYTES("\x80\x02}(K\x01u."), PLUMB_DAMAGED, 1006, "key without a value"},
    {BYTES("\x80\x02K\x01K\x02"
           "a."),
     PLUMB_DAMAGED, 1006, "not a list"},
    {BYTES("\x80\x02]K\x01K\x02s."), PLUMB_DAMAGED, 1007, "not a dict"},
    {BYTES("\x80\x02(K\x01\x86."), PLUMB_DAMAGED, 1005, "empty stack"},
    {BYTES("\x80\x04K\x01K\x02\x93."), PLUMB_DAMAGED, 1006, "not text"},
    {BYTES("cmodule"), PLUMB_DAMAGED, 1000, "middle of a line"},
    {BYTES("I12x\n."), PLUMB_DAMAGED, 1000, "integer that is none"},
    {BYTES("I\n."), PLUMB_DAMAGED, 1000, "integer that is none"},
    {BYTES("Fabc\n."), PLUMB_DAMAGED, 1000, "float that is none"},
    {BYTES("Sabc\n."), PLUMB_DAMAGED, 1000, "without quotes"},
    {BYTES("(o."), PLUMB_DAMAGED, 1001, "without a class"},
    {BYTES("\x80\x02\x8b\xff\xff\xff\x7f."), PLUMB_DAMAGED, 1002, "middle"},
};

static void unsound_pickles_are_refused_at_their_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unsound / sizeof *unsound; i++) {
        struct plumb_arena arena = {.limit = 1 << 20};
        struct plumb_pickle pickle = {0};
        struct plumb_error err = {0};
        const enum plumb_status status =
            read_bytes(unsound[i].bytes, unsound[i].size, &arena, &pickle, &err);
        if (!strstr(err.message, unsound[i].says))
            fail_msg("case %zu says: %s", i, err.message);
        assert_int_equal(status, unsound[i].status);
        assert_int_equal(err.offset, unsound[i].offset);
        plumb_arena_release(&arena);
    }
}

static void references_are_listed(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    struct plumb_pickle pickle = {0};
    struct plumb_error err;
    const char bytes[] = "\x80\x02(K\x01QK\x02QK\x03t.";
    assert_int_equal(read_bytes(bytes, sizeof bytes - 1, &arena, &pickle, &err), PLUMB_OK);
    assert_int_equal(pickle.references->count, 2);
    plumb_arena_release(&arena);
}

/* A megabyte of EMPTY_LIST asks for 40 times as much. */
static void what_a_pickle_may_ask_for_is_bounded(void **state)
{
    (void)state;
    const size_t size = 1 << 20;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, ']', size);
    bytes[size - 1] = '.';
    struct plumb_arena arena = {.limit = 1 << 20};
    struct plumb_pickle pickle = {0};
    struct plumb_error err;
    assert_int_equal(read_bytes(bytes, size, &arena, &pickle, &err), PLUMB_LIMIT);
    plumb_arena_release(&arena);
    free(bytes);
}

static void no_damage_leads_outside(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        const size_t size = sound[i].size;
        for (size_t at = 0; at < size; at++) {
            for (int value = 0; value < 256; value += 3) {
                char *copy = malloc(size);
                assert_non_null(copy);
                memcpy(copy, sound[i].bytes, size);
                copy[at] = (char)value;
                struct plumb_arena arena = {.limit = 1 << 20};
                struct plumb_pickle pickle = {0};
                struct plumb_buffer text;
                plumb_buffer_init(&text, 4096);
                if (read_bytes(copy, size, &arena, &pickle, NULL) == PLUMB_OK)
                    describe(&text, pickle.root);
                plumb_buffer_release(&text);
                plumb_arena_release(&arena);
                free(copy);
            }
        }
    }
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    const char bytes[] = "\x80\x02"
                         "ccollections\nOrderedDict\nq\x00)R(K\x01K\x02u.";
    for (size_t n = 1; n < 30; n++) {
        struct plumb_arena arena = {0};
        struct plumb_pickle pickle = {0};
        struct plumb_error err = {0};
        plumb_memory_fail_at(n);
        const enum plumb_status status =
            read_bytes(bytes, sizeof bytes - 1, &arena, &pickle, &err);
        const size_t asked = plumb_memory_fail_at(0);
        assert_int_equal(status, asked >= n ? PLUMB_NO_MEMORY : PLUMB_OK);
        plumb_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_pickles_become_trees),
        cmocka_unit_test(unsound_pickles_are_refused_at_their_byte),
        cmocka_unit_test(references_are_listed),
        cmocka_unit_test(what_a_pickle_may_ask_for_is_bounded),
        cmocka_unit_test(no_damage_leads_outside),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
