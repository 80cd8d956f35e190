/*
 * pickle_text.c - the opcodes of protocol 0, whose arguments are lines of text.
 *
 * Python 2 and torch before 0.4 wrote them; `I01` and `I00` are True and False there.
 */
#include "base/pickle_machine.h"

#include "base/number.h"
#include "base/utf8.h"

#include <string.h>

static enum plumb_status fail_line(const struct pickle_machine *machine)
{
    return machine->err->status ? machine->err->status : PLUMB_DAMAGED;
}

/* A decimal integer of all `length` characters; false if it is none or beyond 64 bits. */
static bool parse_int(const char *text, size_t length, int64_t *value)
{
    const bool negative = length && *text == '-';
    size_t i = negative ? 1 : 0;
    int64_t number = 0;
    if (i == length)
        return false;
    for (; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, text[i] - '0', &number))
            return false;
    }
    return negative ? (*value = number, true) : !__builtin_sub_overflow(0, number, value);
}

static bool all_digits(const char *text, size_t length)
{
    size_t i = length && *text == '-' ? 1 : 0;
    const size_t first = i;
    while (i < length && text[i] >= '0' && text[i] <= '9')
        i++;
    return i == length && i > first;
}

enum plumb_status plumb_pickle_do_int_line(struct pickle_machine *machine)
{
    size_t length = 0;
    const char *line = plumb_pickle_line(machine, &length);
    if (!line)
        return fail_line(machine);
    if (machine->code == 'L' && length && line[length - 1] == 'L')
        length--;
    int64_t value = 0;
    if (!parse_int(line, length, &value)) {
        if (!all_digits(line, length))
            return plumb_pickle_fail(machine, PLUMB_DAMAGED, "has an integer that is none");
        return plumb_pickle_push_text(machine, PLUMB_PICKLE_BIG, line, length);
    }
    const bool truth = machine->code == 'I' && length == 2 && line[0] == '0';
    struct plumb_pickle_node *node =
        plumb_pickle_push_new(machine, truth ? PLUMB_PICKLE_BOOL : PLUMB_PICKLE_INT);
    if (!node)
        return fail_line(machine);
    if (truth)
        node->truth = value != 0;
    else
        node->integer = value;
    return PLUMB_OK;
}

enum plumb_status plumb_pickle_do_float_line(struct pickle_machine *machine)
{
    size_t length = 0;
    const char *line = plumb_pickle_line(machine, &length);
    if (!line)
        return fail_line(machine);
    static const struct {
        const char *name;
        double value;
    } names[] = {
        {"nan", __builtin_nan("")}, {"inf", __builtin_inf()}, {"-inf", -__builtin_inf()}};
    double value = 0;
    bool found = plumb_number_parse(line, length, &value);
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++) {
        found = strlen(names[i].name) == length && memcmp(names[i].name, line, length) == 0;
        value = names[i].value;
    }
    if (!found)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "has a float that is none");
    struct plumb_pickle_node *node = plumb_pickle_push_new(machine, PLUMB_PICKLE_FLOAT);
    if (!node)
        return fail_line(machine);
    node->real = value;
    return PLUMB_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* `digits` hexadecimal digits at `text`, or false. */
static bool parse_hex(const char *text, size_t left, size_t digits, uint32_t *value)
{
    if (left < digits)
        return false;
    *value = 0;
    for (size_t i = 0; i < digits; i++) {
        const int digit = hex_digit(text[i]);
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

/* One character that a backslash begins; returns how many characters it takes, 0 if none. */
static size_t unescape_one(const char *text, size_t left, bool unicode, uint32_t *code)
{
    static const char escapes[] = "n\nt\tr\r\\\\''\"\"";
    if (left < 2)
        return 0;
    if (unicode) {
        if (text[1] == 'u' && parse_hex(text + 2, left - 2, 4, code))
            return 6;
        return text[1] == 'U' && parse_hex(text + 2, left - 2, 8, code) ? 10 : 0;
    }
    if (text[1] == 'x' && parse_hex(text + 2, left - 2, 2, code))
        return 4;
    for (size_t i = 0; i + 1 < sizeof escapes; i += 2) {
        if (text[1] == escapes[i]) {
            *code = (unsigned char)escapes[i + 1];
            return 2;
        }
    }
    return 0;
}

/* Pushes text with its escapes resolved. It never gets longer than twice its length. */
static enum plumb_status push_unescaped(struct pickle_machine *machine, const char *text,
                                        size_t length, bool unicode)
{
    char *out = plumb_arena_alloc(machine->arena, length * 2 + 1, 1);
    if (!out)
        return plumb_pickle_fail_arena(machine);
    size_t size = 0;
    for (size_t i = 0; i < length;) {
        uint32_t code = (unsigned char)text[i];
        const size_t taken =
            text[i] == '\\' ? unescape_one(text + i, length - i, unicode, &code) : 0;
        if (!unicode) /* bytes of Python 2 */
            out[size++] = (char)code;
        else
            size += plumb_utf8_encode(code, out + size);
        i += taken ? taken : 1;
    }
    struct plumb_pickle_node *node = plumb_pickle_push_new(machine, PLUMB_PICKLE_STRING);
    if (!node)
        return fail_line(machine);
    node->text = out;
    node->length = size;
    return PLUMB_OK;
}

enum plumb_status plumb_pickle_do_string_line(struct pickle_machine *machine)
{
    size_t length = 0;
    const char *line = plumb_pickle_line(machine, &length);
    if (!line)
        return fail_line(machine);
    if (length < 2 || line[0] != line[length - 1] || (line[0] != '\'' && line[0] != '"'))
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "has a string without quotes");
    return push_unescaped(machine, line + 1, length - 2, false);
}

enum plumb_status plumb_pickle_do_unicode_line(struct pickle_machine *machine)
{
    size_t length = 0;
    const char *line = plumb_pickle_line(machine, &length);
    return line ? push_unescaped(machine, line, length, true) : fail_line(machine);
}

static enum plumb_status index_line(struct pickle_machine *machine, uint64_t *index)
{
    size_t length = 0;
    const char *line = plumb_pickle_line(machine, &length);
    int64_t value = 0;
    if (!line)
        return fail_line(machine);
    if (!parse_int(line, length, &value) || value < 0)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "has a memo index that is no number");
    *index = (uint64_t)value;
    return PLUMB_OK;
}

enum plumb_status plumb_pickle_do_get_line(struct pickle_machine *machine)
{
    uint64_t index = 0;
    enum plumb_status status = index_line(machine, &index);
    return status ? status : plumb_pickle_recall(machine, index);
}

enum plumb_status plumb_pickle_do_put_line(struct pickle_machine *machine)
{
    uint64_t index = 0;
    enum plumb_status status = index_line(machine, &index);
    return status ? status : plumb_pickle_remember(machine, index);
}

enum plumb_status plumb_pickle_do_global_line(struct pickle_machine *machine)
{
    size_t module_length = 0, name_length = 0;
    const char *module = plumb_pickle_line(machine, &module_length);
    const char *name = module ? plumb_pickle_line(machine, &name_length) : NULL;
    if (!name)
        return fail_line(machine);
    return plumb_pickle_push_global(machine, module, module_length, name, name_length);
}

/* INST: mark, arguments ...; the class follows as two lines. */
enum plumb_status plumb_pickle_do_inst_line(struct pickle_machine *machine)
{
    enum plumb_status status = plumb_pickle_actions['t'](machine);
    if (status == PLUMB_OK)
        status = plumb_pickle_do_global_line(machine);
    if (status)
        return status;
    struct plumb_pickle_node *callable = plumb_pickle_pop(machine);
    struct plumb_pickle_node *arguments = callable ? plumb_pickle_pop(machine) : NULL;
    return arguments ? plumb_pickle_push_call(machine, callable, arguments)
                     : fail_line(machine);
}

enum plumb_status plumb_pickle_do_persistent_line(struct pickle_machine *machine)
{
    size_t length = 0;
    const char *line = plumb_pickle_line(machine, &length);
    if (!line)
        return fail_line(machine);
    enum plumb_status status =
        plumb_pickle_push_text(machine, PLUMB_PICKLE_STRING, line, length);
    return status ? status : plumb_pickle_actions['Q'](machine);
}
