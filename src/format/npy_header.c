/* npy_header.c - the header of numpy's .npy; see npy_header.h. */
#include "format/npy_header.h"

#include "base/bytes.h"
#include "base/error.h"

#include <inttypes.h>
#include <string.h>

static const unsigned char magic[PLUMB_NPY_MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The dictionary's text and a place in it. */
struct literal {
    const char *text;
    size_t size;
    size_t at;
    uint64_t offset; /* of text in the file */
    const char *path;
    struct plumb_error *err;
};

bool plumb_npy_has_magic(const void *bytes, size_t size)
{
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* ---- a Python literal ----------------------------------------------------------------- */

static enum plumb_status expected(const struct literal *literal, const char *what)
{
    const uint64_t offset = literal->offset + literal->at;
    return plumb_fail(literal->err, PLUMB_DAMAGED, (int64_t)offset,
                      "%s: npy header, byte %" PRIu64
                      ": expected %s; the file is damaged, save "
                      "it again with numpy.save",
                      literal->path, offset, what);
}

static char peek(struct literal *literal)
{
    while (literal->at < literal->size && strchr(" \t\r\n", literal->text[literal->at]) &&
           literal->text[literal->at])
        literal->at++;
    return literal->at < literal->size ? literal->text[literal->at] : '\0';
}

static bool eat(struct literal *literal, char c)
{
    if (peek(literal) != c || c == '\0')
        return false;
    literal->at++;
    return true;
}

static bool eat_word(struct literal *literal, const char *word)
{
    const size_t length = strlen(word);
    (void)peek(literal);
    if (literal->size - literal->at < length ||
        memcmp(literal->text + literal->at, word, length) != 0)
        return false;
    literal->at += length;
    return true;
}

/* A string in either kind of quotes, without a backslash in it (none of ours needs one). */
static bool eat_string(struct literal *literal, const char **text, size_t *length)
{
    const char quote = peek(literal);
    if (quote != '\'' && quote != '"')
        return false;
    const char *start = literal->text + literal->at + 1;
    const size_t left = literal->size - literal->at - 1;
    const char *end = memchr(start, quote, left);
    if (!end)
        return false;
    *text = start;
    *length = (size_t)(end - start);
    literal->at += *length + 2;
    return !memchr(start, '\\', *length);
}

static enum plumb_status parse_dimension(struct literal *literal, int64_t *dimension)
{
    int64_t value = 0;
    if (peek(literal) < '0' || peek(literal) > '9')
        return expected(literal, "a dimension: digits");
    const uint64_t start = literal->offset + literal->at;
    while (literal->at < literal->size && literal->text[literal->at] >= '0' &&
           literal->text[literal->at] <= '9') {
        const int digit = literal->text[literal->at++] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return plumb_fail(literal->err, PLUMB_LIMIT, (int64_t)start,
                              "%s: npy header, byte %" PRIu64
                              ": a dimension is above 2^63; the "
                              "file is damaged",
                              literal->path, start);
    }
    if (literal->at < literal->size && literal->text[literal->at] == 'L')
        literal->at++; /* Python 2 wrote 3L */
    *dimension = value;
    return PLUMB_OK;
}

/* () (3,) (3, 4) (3, 4,), but not (3): that is no tuple to Python. */
static enum plumb_status parse_shape(struct literal *literal, struct plumb_npy_header *header)
{
    bool comma = true;
    if (!eat(literal, '('))
        return expected(literal, "'(' of the shape");
    header->rank = 0;
    while (!eat(literal, ')')) {
        if (!comma)
            return expected(literal, "',' or ')' in the shape");
        if (header->rank == PLUMB_MAX_RANK)
            return plumb_fail(literal->err, PLUMB_LIMIT, (int64_t)literal->offset,
                              "%s: npy header: more than %d dimensions", literal->path,
                              PLUMB_MAX_RANK);
        enum plumb_status status = parse_dimension(literal, &header->shape[header->rank]);
        if (status)
            return status;
        header->rank++;
        comma = eat(literal, ',');
    }
    if (header->rank == 1 && !comma)
        return expected(literal, "a tuple as shape, (n,) with its comma");
    return PLUMB_OK;
}

/* ---- element types -------------------------------------------------------------------- */

static const char unclear_16[] = "raw 2-byte values taken as bf16: the file does not tell";
static const char unclear_8[] = "raw 1-byte values shown as u8: the file does not tell which "
                                "8-bit float (f8e4m3, f8e5m2, hif8) they are";

static const struct {
    const char *code; /* without its byte order */
    enum plumb_dtype dtype;
    const char *warning;
} types[] = {
    {"f8", PLUMB_F64, NULL},     {"f4", PLUMB_F32, NULL},    {"f2", PLUMB_F16, NULL},
    {"i1", PLUMB_I8, NULL},      {"i2", PLUMB_I16, NULL},    {"i4", PLUMB_I32, NULL},
    {"i8", PLUMB_I64, NULL},     {"u1", PLUMB_U8, NULL},     {"u2", PLUMB_U16, NULL},
    {"u4", PLUMB_U32, NULL},     {"u8", PLUMB_U64, NULL},    {"b1", PLUMB_BOOL, NULL},
    {"c8", PLUMB_C64, NULL},     {"c16", PLUMB_C128, NULL},  {"V2", PLUMB_BF16, unclear_16},
    {"V1", PLUMB_U8, unclear_8}, {"V1", PLUMB_F8E4M3, NULL}, {"V1", PLUMB_F8E5M2, NULL},
    {"V1", PLUMB_HIF8, NULL},
};

static enum plumb_status refuse_type(const struct literal *literal, const char *code,
                                     size_t length)
{
    static const struct {
        char letter;
        const char *what;
    } kinds[] = {
        {'O',
         "Python objects, which are a pickle; Plumb runs no pickles. Save the array with a "
         "number type and allow_pickle=False"},
        {'U', "text, not numbers"},
        {'S', "byte strings, not numbers"},
        {'M', "dates, not numbers; save .astype('i8')"},
        {'m', "time differences, not numbers; save .astype('i8')"},
        {'V', "raw records; save each field as an array of its own"},
        {'f', "floats wider than 64 bits; save .astype('f8')"},
        {'c', "complex numbers wider than 128 bits; save .astype('c16')"},
    };
    const char *what = "a type that Plumb does not know";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (length && code[0] == kinds[i].letter)
            what = kinds[i].what;
    return plumb_fail(literal->err, PLUMB_UNSUPPORTED, (int64_t)literal->offset,
                      "%s: npy array of type '%.*s': %s", literal->path,
                      (int)(length < 40 ? length : 40), code, what);
}

static enum plumb_status parse_type(struct literal *literal, struct plumb_npy_header *header)
{
    const char *code = NULL;
    size_t length = 0;
    if (peek(literal) == '[')
        return plumb_fail(
            literal->err, PLUMB_UNSUPPORTED, (int64_t)(literal->offset + literal->at),
            "%s: npy array with named fields (a structured type); save each field "
            "as an array of its own",
            literal->path);
    if (!eat_string(literal, &code, &length))
        return expected(literal, "the type as a string, like '<f4'");
    if (length && strchr("<>|=", code[0]) && code[0]) {
        header->big_endian = code[0] == '>';
        code++;
        length--;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (length == strlen(types[i].code) && memcmp(code, types[i].code, length) == 0) {
            header->dtype = types[i].dtype;
            header->warning = types[i].warning;
            return PLUMB_OK;
        }
    return refuse_type(literal, code, length);
}

/* ---- the dictionary ------------------------------------------------------------------- */

enum { HAS_TYPE = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static enum plumb_status parse_entry(struct literal *literal, struct plumb_npy_header *header,
                                     int *seen)
{
    const char *key = NULL;
    size_t length = 0;
    if (!eat_string(literal, &key, &length))
        return expected(literal, "a key of the dictionary");
    if (!eat(literal, ':'))
        return expected(literal, "':' after a key");
    const bool type = length == 5 && memcmp(key, "descr", 5) == 0;
    const bool order = length == 13 && memcmp(key, "fortran_order", 13) == 0;
    const bool shape = length == 5 && memcmp(key, "shape", 5) == 0;
    const int which = type ? HAS_TYPE : order ? HAS_ORDER : shape ? HAS_SHAPE : 0;
    if (!which || (*seen & which))
        return expected(literal, "'descr', 'fortran_order' and 'shape', each once");
    *seen |= which;
    if (type)
        return parse_type(literal, header);
    if (shape)
        return parse_shape(literal, header);
    header->fortran = eat_word(literal, "True");
    if (!header->fortran && !eat_word(literal, "False"))
        return expected(literal, "True or False as fortran_order");
    return PLUMB_OK;
}

static enum plumb_status parse_dictionary(struct literal *literal,
                                          struct plumb_npy_header *header)
{
    int seen = 0;
    bool comma = true;
    if (!eat(literal, '{'))
        return expected(literal, "'{' of a dictionary");
    while (!eat(literal, '}')) {
        if (!comma)
            return expected(literal, "',' or '}'");
        enum plumb_status status = parse_entry(literal, header, &seen);
        if (status)
            return status;
        comma = eat(literal, ',');
    }
    if (seen != HAS_ALL)
        return expected(literal, "'descr', 'fortran_order' and 'shape', each once");
    if (peek(literal) != '\0' || literal->at != literal->size)
        return expected(literal, "only spaces after the dictionary");
    return PLUMB_OK;
}

static enum plumb_status size_of_data(struct plumb_npy_header *header, const char *path,
                                      struct plumb_error *err)
{
    int64_t count = 0;
    uint64_t size = 0;
    if (!plumb_shape_count(header->rank, header->shape, &count) ||
        __builtin_mul_overflow((uint64_t)count, plumb_dtype_size(header->dtype), &size) ||
        size > INT64_MAX)
        return plumb_fail(
            err, PLUMB_LIMIT, PLUMB_NPY_MAGIC_SIZE,
            "%s: npy header: the shape asks for more than 2^63 bytes; the file is "
            "damaged",
            path);
    header->data_size = size;
    return PLUMB_OK;
}

enum plumb_status plumb_npy_header_parse(const void *bytes, size_t size, const char *path,
                                         struct plumb_npy_header *header,
                                         struct plumb_error *err)
{
    struct plumb_bytes reader = plumb_bytes_of(bytes, size);
    *header = (struct plumb_npy_header){0};
    if (!plumb_npy_has_magic(bytes, size))
        return plumb_fail(err, PLUMB_DAMAGED, 0,
                          "%s: byte 0: expected the magic bytes 93 'NUMPY' of an npy file; it "
                          "is something else, or damaged",
                          path);
    plumb_bytes_seek(&reader, sizeof magic);
    const unsigned major = plumb_bytes_u8(&reader);
    (void)plumb_bytes_u8(&reader);
    const size_t length =
        major == 1 ? plumb_bytes_u16(&reader) : (size_t)plumb_bytes_u32(&reader);
    if (plumb_bytes_ok(&reader) && (major < 1 || major > 3))
        return plumb_fail(err, PLUMB_UNSUPPORTED, PLUMB_NPY_MAGIC_SIZE,
                          "%s: npy format version %u; Plumb reads 1, 2 and 3", path, major);
    if (plumb_bytes_ok(&reader) && length > PLUMB_NPY_MAX_HEADER - reader.at)
        return plumb_fail(err, PLUMB_LIMIT, 8,
                          "%s: npy header of %zu bytes, more than 1 MiB; the file is damaged",
                          path, length);
    struct literal literal = {.offset = reader.at, .path = path, .err = err};
    literal.text = (const char *)plumb_bytes_take(&reader, length);
    if (!plumb_bytes_ok(&reader))
        return plumb_fail(err, PLUMB_DAMAGED, (int64_t)size,
                          "%s: the npy header should reach byte %zu, but the file ends at byte "
                          "%zu; copy it again",
                          path, reader.at + length, size);
    literal.size = length;
    header->data_offset = reader.at;
    enum plumb_status status = parse_dictionary(&literal, header);
    return status ? status : size_of_data(header, path, err);
}

/* ---- to a tensor ---------------------------------------------------------------------- */

static void fortran_strides(const struct plumb_npy_header *header, int64_t *strides)
{
    uint64_t step = 1; /* unsigned: an empty array may have other dimensions that overflow */
    for (int i = 0; i < header->rank; i++) {
        strides[i] = (int64_t)step;
        step *= (uint64_t)header->shape[i];
    }
}

enum plumb_status plumb_npy_add_tensor(struct plumb_file *file, struct plumb_storage *storage,
                                       uint64_t offset, const struct plumb_npy_header *header,
                                       const char *name, struct plumb_error *err)
{
    int64_t strides[PLUMB_MAX_RANK];
    const uint64_t left = storage->size - offset;
    if (offset > storage->size || header->data_size > left)
        return plumb_fail(
            err, PLUMB_DAMAGED, (int64_t)offset,
            "%s: %s: the shape asks for %" PRIu64 " bytes of data from byte %" PRIu64
            " on, the file has %" PRIu64 "; copy or save it again",
            file->path, name, header->data_size, offset, offset > storage->size ? 0 : left);
    enum plumb_status status = PLUMB_OK;
    if (header->data_size < left)
        status = plumb_file_warn(file, err,
                                 "%s: %" PRIu64 " bytes after the end of the array are ignored",
                                 name, left - header->data_size);
    if (!status && header->warning)
        status = plumb_file_warn(file, err, "%s: %s", name, header->warning);
    if (status)
        return status;
    storage->big_endian = header->big_endian;
    fortran_strides(header, strides);
    const struct plumb_tensor_spec spec = {
        .name = name,
        .dtype = header->dtype,
        .rank = header->rank,
        .shape = header->shape,
        .strides = header->fortran ? strides : NULL,
        .storage = storage,
        .offset = offset,
    };
    return plumb_file_add_tensor(file, &spec, err);
}

/* ---- writing -------------------------------------------------------------------------- */

static const char *code_of(enum plumb_dtype dtype)
{
    size_t i = 0;
    while (types[i].dtype != dtype || types[i].warning == unclear_8)
        i++;
    return types[i].code;
}

void plumb_npy_header_write(enum plumb_dtype dtype, int rank, const int64_t *shape,
                            struct plumb_buffer *buffer)
{
    const char *code = code_of(dtype);
    const size_t start = buffer->size;
    const bool has_order = plumb_dtype_size(dtype) > 1 && code[0] != 'V';
    plumb_buffer_append(buffer, magic, sizeof magic);
    plumb_buffer_append(buffer, "\1\0\0\0", 4);
    plumb_buffer_printf(buffer, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                        has_order ? '<' : '|', code);
    for (int i = 0; i < rank; i++)
        plumb_buffer_printf(buffer, i ? ", %" PRId64 : "%" PRId64, shape[i]);
    plumb_buffer_text(buffer, rank == 1 ? ",), }" : "), }");
    const size_t used = buffer->size - start + 1;
    plumb_buffer_fill(buffer, ' ', (64 - used % 64) % 64);
    plumb_buffer_text(buffer, "\n");
    if (!plumb_buffer_failed(buffer)) /* 64 dimensions need 2 KiB: a u16 is always enough */
        plumb_store_u16(buffer->data + start + 8, (uint16_t)(buffer->size - start - 10));
}
