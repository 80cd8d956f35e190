/*
 * plumb.h - the one public header of Plumb.
 *
 * Everything a program can do with Plumb goes through this file: the command line, the
 * examples and the benchmarks include nothing else.
 *
 * Conventions
 *   - A call that can fail returns `enum plumb_status` (0 is success) and takes a
 *     `struct plumb_error *` last. It may be NULL; it is left untouched on success and holds a
 *     finished sentence on failure. The library never prints, exits or aborts.
 *   - `open/close`, `new/free`: what the first made the second frees; freeing NULL is fine.
 *   - A pointer returned by an accessor is borrowed: it belongs to its object and dies with it.
 *   - Objects may be used by several threads at once as long as nobody closes them.
 *   - In every comparison A is the reference and B is what is judged.
 */
#ifndef PLUMB_H
#define PLUMB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_VERSION "0.1.0"

#if defined(__GNUC__)
#define PLUMB_API __attribute__((visibility("default")))
#define PLUMB_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define PLUMB_API
#define PLUMB_PRINTF(text, first)
#endif

/* ---- status ------------------------------------------------------------------------- */

enum plumb_status {
    PLUMB_OK = 0,
    PLUMB_NO_MEMORY,   /* an allocation failed */
    PLUMB_IO,          /* the operating system refused: missing file, full disk, ... */
    PLUMB_DAMAGED,     /* the bytes contradict the format they claim to be */
    PLUMB_UNSUPPORTED, /* sound, but not something Plumb reads or writes */
    PLUMB_LIMIT,       /* a count or size is above a stated cap */
    PLUMB_NOT_FOUND,   /* no such tensor, format, metric, ... */
    PLUMB_INVALID,     /* the caller's argument makes no sense */
    PLUMB_STOPPED,     /* the caller's progress function asked to stop */
};

PLUMB_API const char *plumb_status_name(enum plumb_status status);

struct plumb_error {
    enum plumb_status status;
    int64_t offset;     /* byte in the file the message speaks of, or -1 */
    char message[1024]; /* one sentence: file, what was expected, what was found, what to try */
};

PLUMB_API const char *plumb_version(void);

/* Called now and then from the calling thread during long work. Returning false stops it. */
struct plumb_progress {
    bool (*update)(void *context, const char *what, uint64_t done, uint64_t total);
    void *context;
};

/* Where reports go. `write` returns false to stop (its reason is the caller's business). */
struct plumb_sink {
    bool (*write)(void *context, const char *bytes, size_t size);
    void *context;
};

/* ---- element types ------------------------------------------------------------------ */

enum plumb_dtype {
    PLUMB_F64,
    PLUMB_F32,
    PLUMB_F16,
    PLUMB_BF16,
    PLUMB_F8E4M3, /* OCP e4m3fn: no infinity, max 448 */
    PLUMB_F8E5M2,
    PLUMB_HIF8, /* tapered 8-bit float of Ascend NPUs */
    PLUMB_I8,
    PLUMB_I16,
    PLUMB_I32,
    PLUMB_I64,
    PLUMB_U8,
    PLUMB_U16,
    PLUMB_U32,
    PLUMB_U64,
    PLUMB_BOOL,
    PLUMB_C64,  /* two f32 */
    PLUMB_C128, /* two f64 */
    PLUMB_DTYPE_COUNT
};

/* "f32", "bf16", ... as used in JSON; never NULL. */
PLUMB_API const char *plumb_dtype_name(enum plumb_dtype dtype);
/* Accepts the JSON names and the usual aliases (float32, half, bfloat16, ...). */
PLUMB_API bool plumb_dtype_from_name(const char *name, enum plumb_dtype *dtype);
PLUMB_API size_t plumb_dtype_size(enum plumb_dtype dtype);
/* Real floating point: f64 ... hif8. Complex types are not. */
PLUMB_API bool plumb_dtype_is_float(enum plumb_dtype dtype);
PLUMB_API bool plumb_dtype_is_complex(enum plumb_dtype dtype);

/* How a value that does not fit a narrower type is rounded. */
enum plumb_round {
    PLUMB_ROUND_NEAREST_EVEN, /* IEEE default */
    PLUMB_ROUND_NEAREST_AWAY, /* ties away from zero: the NPU's "A" */
    PLUMB_ROUND_TO_ODD,       /* inexact results get an odd last bit: the NPU's "O" */
    PLUMB_ROUND_UP,
    PLUMB_ROUND_DOWN,
    PLUMB_ROUND_TO_ZERO,
    PLUMB_ROUND_COUNT
};

PLUMB_API const char *plumb_round_name(enum plumb_round round); /* "nearest-even", "odd" ... */
PLUMB_API bool plumb_round_from_name(const char *name, enum plumb_round *round);

/* Converts `count` elements. A float that overflows becomes infinity where the rounding mode
 * leads there and the type has one, else the largest value; integers saturate, NaN becomes
 * 0 as an integer; a complex source must have a complex target. `from` and `to` may not
 * overlap. Fails only for complex to real. */
PLUMB_API enum plumb_status plumb_convert_values(enum plumb_dtype from_dtype, const void *from,
                                                 enum plumb_dtype to_dtype, void *to,
                                                 size_t count, enum plumb_round round,
                                                 struct plumb_error *err);

/* ---- tensors and the files they live in ----------------------------------------------- */

#define PLUMB_MAX_RANK 64

struct plumb_tensor {
    const char *name;
    enum plumb_dtype dtype;
    int rank;
    const int64_t *shape;   /* rank entries */
    const int64_t *strides; /* rank entries, in elements, may be 0 or negative */
    int64_t count;          /* product of shape; 1 for rank 0 */
    bool parameter;         /* belongs to the model (not to optimizer, random state, ...) */
    const struct plumb_storage *storage; /* where the bytes are; private to the library */
    int64_t offset;                      /* first element's byte within the storage */
};

struct plumb_file;

struct plumb_open_options {
    const char *format; /* NULL: find out from the content */
};

/* Opens a tensor file, or a directory of them. `options` may be NULL. */
PLUMB_API enum plumb_status plumb_file_open(const char *path,
                                            const struct plumb_open_options *options,
                                            struct plumb_file **file, struct plumb_error *err);
/* The same for bytes in memory, which must outlive the file; `name` is used in messages. */
PLUMB_API enum plumb_status plumb_file_open_memory(const char *name, const void *bytes,
                                                   size_t size,
                                                   const struct plumb_open_options *options,
                                                   struct plumb_file **file,
                                                   struct plumb_error *err);
PLUMB_API void plumb_file_close(struct plumb_file *file);

PLUMB_API const char *plumb_file_path(const struct plumb_file *file);
PLUMB_API const char *plumb_file_format(const struct plumb_file *file); /* "npy", "torch" ... */
/* "pytorch", "mindspore" or "" where the file does not tell. */
PLUMB_API const char *plumb_file_framework(const struct plumb_file *file);
PLUMB_API size_t plumb_file_tensor_count(const struct plumb_file *file);
PLUMB_API const struct plumb_tensor *plumb_file_tensor(const struct plumb_file *file, size_t i);
PLUMB_API const struct plumb_tensor *plumb_file_find(const struct plumb_file *file,
                                                     const char *name);
/* Content that is not a tensor: a dotted key and a JSON value. */
struct plumb_note {
    const char *key;
    const char *json;
};
PLUMB_API size_t plumb_file_note_count(const struct plumb_file *file);
PLUMB_API const struct plumb_note *plumb_file_note(const struct plumb_file *file, size_t i);
/* What could not be read or is suspicious, one sentence each. */
PLUMB_API size_t plumb_file_warning_count(const struct plumb_file *file);
PLUMB_API const char *plumb_file_warning(const struct plumb_file *file, size_t i);
/* True if both show the same bytes of the same file in the same way (tied weights). */
PLUMB_API bool plumb_tensor_same_storage(const struct plumb_tensor *a,
                                         const struct plumb_tensor *b);

/* Copies elements [first, first + count) in logical (row-major) order, in the tensor's own
 * dtype and the machine's byte order, whatever strides and byte order the file has. */
PLUMB_API enum plumb_status plumb_tensor_read(const struct plumb_tensor *tensor, int64_t first,
                                              int64_t count, void *buffer,
                                              struct plumb_error *err);

/* ---- numbers about one tensor --------------------------------------------------------- */

/* min ... abs_mean are over finite values; NaN where there are none. The two parts of a
 * complex number count as two values. std is the population's. */
struct plumb_stats {
    uint64_t count;
    uint64_t nan, pos_inf, neg_inf;
    uint64_t zero, subnormal, at_max; /* at_max: magnitude equal to the type's largest finite */
    double min, max, mean, std, l2, abs_mean;
};

/* How many finite non-zero values have floor(log2(|x|)) == index + PLUMB_EXPONENT_MIN. */
#define PLUMB_EXPONENT_MIN (-1074)
#define PLUMB_EXPONENT_COUNT 2098
struct plumb_histogram {
    uint64_t positive[PLUMB_EXPONENT_COUNT];
    uint64_t negative[PLUMB_EXPONENT_COUNT];
};

struct plumb_scan_options {
    int threads;                           /* 0: as many as the machine has */
    const struct plumb_progress *progress; /* may be NULL */
};

struct plumb_summary {
    struct plumb_stats stats;
    uint64_t fingerprint;
};

enum plumb_summary_parts {
    PLUMB_SUMMARY_STATS = 1,
    PLUMB_SUMMARY_FINGERPRINT = 2,
    /* Of more than 10,000 f32 values in memory: sums in single precision over 512 values at a
     * time, in double precision beyond, in about half the time. mean, std, l2 and abs_mean are
     * within 2e-6 of abs_mean or l2, those of large tensors within 1e-8. */
    PLUMB_SUMMARY_QUICK = 4,
};

/* Reads every tensor of `file` once, in parallel, and fills `summaries[i]` for tensor i with the
 * parts asked for (plumb_summary_parts, or-ed). Checksums that the file carries are verified on
 * the way; one that does not hold is added to the file's warnings. */
PLUMB_API enum plumb_status plumb_file_summarize(struct plumb_file *file, int parts,
                                                 const struct plumb_scan_options *options,
                                                 struct plumb_summary *summaries,
                                                 struct plumb_error *err);
PLUMB_API enum plumb_status plumb_tensor_summarize(const struct plumb_tensor *tensor, int parts,
                                                   const struct plumb_scan_options *options,
                                                   struct plumb_summary *summary,
                                                   struct plumb_error *err);
PLUMB_API enum plumb_status plumb_tensor_histogram(const struct plumb_tensor *tensor,
                                                   struct plumb_histogram *histogram,
                                                   struct plumb_error *err);
/* The same for values in memory (C order, no holes). Cannot fail; what is not asked for is left as it
 * is. Both at once read the values once. */
PLUMB_API void plumb_values_summarize(enum plumb_dtype dtype, const void *values, size_t count,
                                      int parts, struct plumb_summary *summary);
PLUMB_API void plumb_values_stats(enum plumb_dtype dtype, const void *values, size_t count,
                                  struct plumb_stats *stats);
PLUMB_API uint64_t plumb_values_fingerprint(enum plumb_dtype dtype, const void *values,
                                            size_t count);
/* "scalar", "avx2" or "avx512": which kernels this process uses. */
PLUMB_API const char *plumb_cpu(void);

/* ---- numbers about two tensors -------------------------------------------------------- */

/* Distances in units of the last place: 0, 1, 2, 3-4, 5-16, 17-256, 257-65536, more. */
#define PLUMB_ULP_BUCKETS 8

/* Elements where one side or both are not finite take part only in the mismatch counts. Two
 * NaNs are equal, and so are two infinities of the same sign. */
struct plumb_comparison {
    uint64_t count;     /* elements (complex: parts) */
    uint64_t equal;     /* of equal value, -0 == 0 */
    uint64_t bit_equal; /* same bits; 0 when the dtypes differ */
    uint64_t finite;    /* pairs with both sides finite */
    uint64_t nan_a, nan_b, inf_a, inf_b;
    uint64_t nan_mismatch; /* NaN on one side only */
    uint64_t inf_mismatch; /* infinite on one side only (other not NaN), or of other sign */
    uint64_t close;        /* |b - a| <= atol + rtol |a|, or equal */
    uint64_t within_1e3, within_5e3; /* |b - a| < 1e-3 |a| (5e-3 |a|), or equal */
    uint64_t zero_reference;         /* a == 0 and b != 0: no relative error, left out of it */
    uint64_t ulp[PLUMB_ULP_BUCKETS]; /* in the coarser of the two types; floats, finite pairs */
    uint64_t max_ulp;
    double max_abs, mean_abs;
    double max_rel, mean_rel; /* |b - a| / |a| over a != 0 */
    double rmse;
    double relative_l2; /* |b - a|_2 / |a|_2 */
    double cosine;      /* 1 - cosine is in one_minus_cosine, without cancellation */
    double one_minus_cosine;
    double bias;           /* mean of b - a */
    double bias_outward;   /* mean of (b - a) * sign(a): negative is toward zero */
    double norm_a, norm_b; /* L2 of the finite pairs */
    double mean_abs_a, max_abs_a, max_abs_b;
    int64_t first_index, worst_index; /* first unequal, largest |b - a|; -1 if none */
};

struct plumb_compare_options {
    struct plumb_scan_options scan;
    double rtol, atol; /* both 0: 1e-5 and 1e-8 */
    /* Leave out close, bias_outward and mean_abs_a (they are 0, NaN and NaN then), which no
     * verdict needs: a third faster. */
    bool brief;
};

/* Compares element by element in logical order; the counts must be equal, shapes need not. */
PLUMB_API enum plumb_status plumb_tensor_compare(const struct plumb_tensor *a,
                                                 const struct plumb_tensor *b,
                                                 const struct plumb_compare_options *options,
                                                 struct plumb_comparison *comparison,
                                                 struct plumb_error *err);
PLUMB_API void plumb_values_compare(enum plumb_dtype dtype_a, const void *a,
                                    enum plumb_dtype dtype_b, const void *b, size_t count,
                                    double rtol, double atol,
                                    struct plumb_comparison *comparison);

/* ---- what a difference means ---------------------------------------------------------- */

enum plumb_verdict {
    PLUMB_IDENTICAL,
    PLUMB_ROUNDING,
    PLUMB_APPROXIMATION,
    PLUMB_DIFFERENT,
    PLUMB_INCOMPLETE, /* of runs: alike as far as they could be read, and they could not whole */
    PLUMB_VERDICT_COUNT
};

enum plumb_pattern {
    PLUMB_PATTERN_NONE,
    PLUMB_PATTERN_ROUNDING_MODE,
    PLUMB_PATTERN_LOW_ACCUMULATION,
    PLUMB_PATTERN_BIT_FLIP,
    PLUMB_PATTERN_FEW_ELEMENTS,
    PLUMB_PATTERN_BLOCKS,
    PLUMB_PATTERN_SLICE,
    PLUMB_PATTERN_SCALED,
    PLUMB_PATTERN_SHIFTED,
    PLUMB_PATTERN_TRANSPOSED,
    PLUMB_PATTERN_PERMUTED,
    PLUMB_PATTERN_NONFINITE,
    PLUMB_PATTERN_EVERYWHERE,
    PLUMB_PATTERN_COUNT
};

PLUMB_API const char *plumb_verdict_name(enum plumb_verdict verdict);
PLUMB_API const char *plumb_pattern_name(enum plumb_pattern pattern);

struct plumb_judgement {
    enum plumb_verdict verdict;
    enum plumb_pattern pattern;
    char reason[512]; /* one line: what was observed against what would be allowed */
};

/* Compares and judges two tensors of equal count. */
PLUMB_API enum plumb_status plumb_tensor_judge(const struct plumb_tensor *a,
                                               const struct plumb_tensor *b,
                                               const struct plumb_compare_options *options,
                                               struct plumb_comparison *comparison,
                                               struct plumb_judgement *judgement,
                                               struct plumb_error *err);

enum plumb_match {
    PLUMB_MATCH_NAME,
    PLUMB_MATCH_RULE,  /* a framework's renaming rule */
    PLUMB_MATCH_MAP,   /* the caller's map */
    PLUMB_MATCH_GUESS, /* by shape and order */
    PLUMB_MATCH_COUNT
};

PLUMB_API const char *plumb_match_name(enum plumb_match match);

struct plumb_pair {
    const struct plumb_tensor *a, *b;
    enum plumb_match matched_by;
    bool shape_differs; /* not comparable: `comparison` is empty, verdict is different */
    bool reshaped;      /* shapes differ only in the way the frameworks' layouts do */
    struct plumb_comparison comparison;
    struct plumb_judgement judgement;
};

struct plumb_diff;

struct plumb_diff_options {
    struct plumb_compare_options compare;
    const char *map_path; /* lines "name_in_a name_in_b", or JSON / YAML {a: b}; may be NULL */
};

PLUMB_API enum plumb_status plumb_diff_new(struct plumb_file *a, struct plumb_file *b,
                                           const struct plumb_diff_options *options,
                                           struct plumb_diff **diff, struct plumb_error *err);
PLUMB_API void plumb_diff_free(struct plumb_diff *diff);
PLUMB_API enum plumb_verdict plumb_diff_verdict(const struct plumb_diff *diff);
PLUMB_API const char *plumb_diff_summary(const struct plumb_diff *diff);
/* Pairs come worst first. */
PLUMB_API size_t plumb_diff_pair_count(const struct plumb_diff *diff);
PLUMB_API const struct plumb_pair *plumb_diff_pair(const struct plumb_diff *diff, size_t i);

/* ---- registries ----------------------------------------------------------------------- */

enum plumb_list {
    PLUMB_LIST_FORMATS,
    PLUMB_LIST_METRICS,
    PLUMB_LIST_VERDICTS,
    PLUMB_LIST_PATTERNS,
    PLUMB_LIST_COUNT
};

struct plumb_entry {
    const char *name;
    const char *summary; /* one line */
    const char *detail;  /* some lines of plain text */
};

PLUMB_API const char *plumb_list_name(enum plumb_list list); /* "formats", ... */
/* NULL past the end. */
PLUMB_API const struct plumb_entry *plumb_list_entry(enum plumb_list list, size_t i);
/* The value of one metric of a comparison; false if there is no such metric. */
PLUMB_API bool plumb_metric_value(const char *name, const struct plumb_comparison *comparison,
                                  double *value);

/* ---- conversion ----------------------------------------------------------------------- */

struct plumb_convert_options {
    const char *format;    /* of the output; NULL: from its extension */
    const char *framework; /* "mindspore", "pytorch" or NULL: names and layouts stay */
    const char *map_path;  /* names in -> names out, or NULL */
    bool change_dtype;
    enum plumb_dtype dtype; /* for floating-point tensors, with change_dtype */
    enum plumb_round round;
    const struct plumb_progress *progress;
};

struct plumb_convert_result {
    size_t tensors, renamed, reshaped, cast, dropped;
    char note[512]; /* what was left out and why; empty if nothing */
};

/* Writes beside `out_path` and renames: a failure leaves nothing half-written. */
PLUMB_API enum plumb_status plumb_convert(struct plumb_file *in, const char *out_path,
                                          const struct plumb_convert_options *options,
                                          struct plumb_convert_result *result,
                                          struct plumb_error *err);

/* ---- writing tensors from memory -------------------------------------------------------- */

struct plumb_value {
    const char *name;
    enum plumb_dtype dtype;
    int rank;
    const int64_t *shape;
    const void *data; /* C order, the machine's byte order */
};

/* `format` NULL: from the extension of `path`. */
PLUMB_API enum plumb_status plumb_write_file(const char *path, const char *format,
                                             const struct plumb_value *values, size_t count,
                                             struct plumb_error *err);

/* ---- recording a run -------------------------------------------------------------------- */

/* A recorder lives inside a training process and writes what happens to a directory:
 *
 *     struct plumb_recorder *recorder = NULL;
 *     const struct plumb_recorder_options options = {.path = "runs/first"};
 *     if (plumb_recorder_open(&options, &recorder, &error))
 *         ... print error.message; go on: every call below takes NULL and does nothing
 *     for (int64_t step = 0; step < steps; step++) {
 *         plumb_record_step_begin(recorder, step);
 *         plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "layers.0", "linear", PLUMB_CALL_COUNTED);
 *         plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
 *         plumb_record_leave(recorder);
 *         plumb_record_series(recorder, "loss", step, loss);
 *         plumb_record_step_end(recorder);
 *     }
 *     plumb_recorder_close(recorder, NULL, &error);
 *
 * Recording calls return nothing: whatever goes wrong ends the capture, never the training, and is
 * told once by plumb_recorder_message(). They may come from any thread; the place entered is the
 * calling thread's own. In a child after fork() they do nothing. Several recorders may be open. */
struct plumb_recorder;

/* The part of a step an op belongs to. */
enum plumb_phase {
    PLUMB_PHASE_FORWARD,
    PLUMB_PHASE_BACKWARD,
    PLUMB_PHASE_OPTIMIZER,
    PLUMB_PHASE_COLLECTIVE,
    PLUMB_PHASE_COUNT
};
PLUMB_API const char *plumb_phase_name(enum plumb_phase phase); /* "forward", ... */

/* How much is recorded. */
enum plumb_level {
    PLUMB_LEVEL_OP,     /* everything, at the selected steps */
    PLUMB_LEVEL_WATCH,  /* no ops, and of tensors only plumb_record_fingerprint() */
    PLUMB_LEVEL_MODULE, /* everything; the program gives modules instead of ops */
    PLUMB_LEVEL_COUNT
};
/* What is kept of a tensor. */
enum plumb_save {
    PLUMB_SAVE_STATS,       /* statistics and fingerprint */
    PLUMB_SAVE_FINGERPRINT, /* the fingerprint alone: the cheapest */
    PLUMB_SAVE_TENSORS,     /* statistics, fingerprint, and the values in stepNNNNNN.npz */
    PLUMB_SAVE_COUNT
};
PLUMB_API const char *plumb_level_name(enum plumb_level level); /* "op", ... */
PLUMB_API bool plumb_level_from_name(const char *name, enum plumb_level *level);
PLUMB_API const char *plumb_save_name(enum plumb_save save); /* "stats", ... */
PLUMB_API bool plumb_save_from_name(const char *name, enum plumb_save *save);

struct plumb_recorder_options {
    const char *path; /* of the run's directory, which is made; all ranks name the same */
    int rank;
    int world_size;           /* 0: 1 */
    const char *framework;    /* NULL: "" */
    const char *command_line; /* NULL: "" */
    enum plumb_level level;
    enum plumb_save save;
    /* "0-9,100,500-:50" is 0 to 9, 100, and every 50th from 500 on. NULL: all. Series and
     * configuration are kept at every step; a rank that is not selected makes no file. */
    const char *steps, *ranks;
    uint64_t memory_limit; /* bytes waiting to be written; 0: 64 MiB */
    bool wait_when_full;   /* drop nothing: the training waits for the disk */
    bool no_thread;        /* write in the recording calls instead of a thread of its own */
    size_t flight_slots;   /* operations kept for after a crash; 0: 256 */
};

/* Can `text` be read as a selection of steps or ranks? `what` is used in the message. */
PLUMB_API enum plumb_status plumb_selection_check(const char *text, const char *what,
                                                  struct plumb_error *err);
/* Fails if the directory cannot be made or written, or already holds this rank's records. */
PLUMB_API enum plumb_status plumb_recorder_open(const struct plumb_recorder_options *options,
                                                struct plumb_recorder **recorder,
                                                struct plumb_error *err);
/* Writes what is waiting and how it ended (NULL: "closed"), then frees. Fails if the capture had
 * ended early, with the message told by plumb_recorder_message(). */
PLUMB_API enum plumb_status plumb_recorder_close(struct plumb_recorder *recorder,
                                                 const char *how, struct plumb_error *err);
/* NULL while all is well; then the one line that says why the capture ended: print it once. */
PLUMB_API const char *plumb_recorder_message(struct plumb_recorder *recorder);

/* What did not fit the memory limit: values go first, then tensor records, then spans and
 * counters; series, steps, configuration and collectives never. */
struct plumb_dropped {
    uint64_t values, tensors, spans, counters;
};
PLUMB_API void plumb_recorder_dropped(struct plumb_recorder *recorder,
                                      struct plumb_dropped *dropped);

PLUMB_API void plumb_record_step_begin(struct plumb_recorder *recorder, int64_t step);
PLUMB_API void plumb_record_step_end(struct plumb_recorder *recorder);
/* Are tensors recorded at this step? Lets a caller skip preparing them. */
PLUMB_API bool plumb_record_wants_tensors(const struct plumb_recorder *recorder);
/* Are spans and counters recorded at this step? */
PLUMB_API bool plumb_record_wants_spans(const struct plumb_recorder *recorder);

/* `call` counts calls of the same op in one step from 0; this lets the recorder count. */
#define PLUMB_CALL_COUNTED (-1)
/* Enters an op: tensors recorded by this thread until the matching leave belong to it. Leaving
 * also records a span on the track "ops". Places nest, 64 deep. */
PLUMB_API void plumb_record_enter(struct plumb_recorder *recorder, enum plumb_phase phase,
                                  const char *module, const char *op, int call);
PLUMB_API void plumb_record_leave(struct plumb_recorder *recorder);
/* Where in the program the op that this thread entered last was called: lines "train.py:57 forward", the
 * innermost first; those of installed packages begin with a space. A text is written once, so that
 * its number can be kept and used again; 0: there is no recorder, or no room. */
PLUMB_API uint32_t plumb_record_stack(struct plumb_recorder *recorder, const char *lines);
PLUMB_API void plumb_record_called_at(struct plumb_recorder *recorder, uint32_t stack);
/* One input, output, parameter or gradient: "input0", "output0", "param:w", "grad:w". Values are in C order. */
PLUMB_API void plumb_record_tensor(struct plumb_recorder *recorder, const char *slot,
                                   enum plumb_dtype dtype, int rank, const int64_t *shape,
                                   const void *values);
/* ---- for callers that record thousands of tensors a step ---- */

/* A place that is entered at every step: looked up once, then entered without its names. It is the
 * recorder's and lives as long as that; any thread may use it. NULL if there is no recorder, or no
 * more room for places: entering that is allowed, and what is recorded there is dropped and
 * counted. */
struct plumb_place;
PLUMB_API struct plumb_place *plumb_record_place(struct plumb_recorder *recorder,
                                                 enum plumb_phase phase, const char *module,
                                                 const char *op);
PLUMB_API void plumb_record_enter_place(struct plumb_recorder *recorder,
                                        struct plumb_place *place, int call);

/* What the values of a tensor come to. It is the caller's: zeroed, it is filled when the tensor is
 * recorded for the first time; or the caller computed it elsewhere, on a device. */
struct plumb_known {
    bool known;           /* what follows is so */
    bool has_stats;       /* without them: .stats.count alone */
    uint64_t fingerprint; /* of plumb_values_fingerprint() */
    int64_t element;      /* first not finite, else first at the type's largest value; or -1 */
    struct plumb_stats stats;
};
/* Fills it from values in memory; without `stats` their fingerprint alone. */
PLUMB_API void plumb_known_of(enum plumb_dtype dtype, const void *values, size_t count,
                              bool stats, struct plumb_known *known);
/* Threads of the program's own that may share the work on a large tensor. `run` calls
 * task(context, member) for each member from 0 to members - 1, in any threads, and returns when all
 * have ended. */
struct plumb_team {
    int members;
    void (*run)(const struct plumb_team *team, void (*task)(void *context, int member),
                void *context);
};
/* plumb_known_of() and plumb_values_summarize(), with the same bits, by a team; NULL: by the calling thread
 * alone. */
PLUMB_API void plumb_known_by(const struct plumb_team *team, enum plumb_dtype dtype,
                              const void *values, size_t count, bool stats,
                              struct plumb_known *known);
PLUMB_API void plumb_values_summarize_by(const struct plumb_team *team, enum plumb_dtype dtype,
                                         const void *values, size_t count, int parts,
                                         struct plumb_summary *summary);
/* plumb_record_tensor() for a tensor that is recorded more than once, as one op's output is the
 * next one's input. With `known->known` the caller vouches that the values are still the same:
 * they are not looked at, and may be NULL, in which case they are not saved either. Without, this
 * computes and fills `known`. Whoever changes the values sets `known->known` to false. A call
 * that records nothing, because of the step or the level, leaves `known` as it is. */
PLUMB_API void plumb_record_known(struct plumb_recorder *recorder, const char *slot,
                                  enum plumb_dtype dtype, int rank, const int64_t *shape,
                                  const void *values, struct plumb_known *known);

/* Sees every tensor record when it is made, in the thread that makes it. `values` are NULL where the caller
 * of plumb_record_known() gave none; they and all texts are gone when it returns. */
struct plumb_tensor_record;
struct plumb_record_observer {
    void (*see)(void *context, const struct plumb_tensor_record *record, const void *values);
    void *context;
};
/* One at a time, the caller's own, until another or NULL takes its place. */
PLUMB_API void plumb_recorder_observe(struct plumb_recorder *recorder,
                                      const struct plumb_record_observer *observer);

/* Its fingerprint alone, at every level: of batches, of weights that replicas have to agree on. */
PLUMB_API void plumb_record_fingerprint(struct plumb_recorder *recorder, const char *slot,
                                        enum plumb_dtype dtype, int rank, const int64_t *shape,
                                        const void *values);
PLUMB_API void plumb_record_series(struct plumb_recorder *recorder, const char *name,
                                   int64_t step, double value);
/* Times are of plumb_record_now(). Tracks form a tree by '/': "host/loader/worker0". */
PLUMB_API void plumb_record_span(struct plumb_recorder *recorder, const char *track,
                                 const char *name, int64_t begin_ns, int64_t end_ns);
PLUMB_API void plumb_record_counter(struct plumb_recorder *recorder, const char *name,
                                    int64_t time_ns, double value);
/* `json` is a JSON value: 0.001, "adamw" with its quotes, ... */
PLUMB_API void plumb_record_config(struct plumb_recorder *recorder, const char *key,
                                   const char *json);
/* One collective operation: the `sequence`-th of its group on this rank. */
struct plumb_collective {
    const char *group; /* "world", "data", ... */
    const char *name;  /* "all_reduce", ... */
    int64_t sequence;
    uint64_t bytes;
    int64_t begin_ns, end_ns;
};
PLUMB_API void plumb_record_collective(struct plumb_recorder *recorder,
                                       const struct plumb_collective *collective);
/* Nanoseconds of the monotonic clock. */
PLUMB_API int64_t plumb_record_now(void);

/* ---- reading a run ---------------------------------------------------------------------- */

/* A run's directory as one object. What is whole is read, what is not is named in the warnings;
 * a run that is still being written is read as far as it is. Tensor records, spans and counters
 * stay on disk until they are visited.
 *
 * Records that other tools wrote are runs as well: dumps of msprobe and MindSpore, logs and tables
 * of losses; PLUMB_LIST_FORMATS has them all. Visits of these may go on in several threads. */
struct plumb_run;

/* Does the path hold a run, or records of a kind that nothing else is taken for? A directory of
 * plain .npy files does not, though plumb_run_open() takes it for a dump. */
PLUMB_API bool plumb_run_is(const char *path);
PLUMB_API enum plumb_status plumb_run_open(const char *path, struct plumb_run **run,
                                           struct plumb_error *err);
/* "plumb", or the name in PLUMB_LIST_FORMATS of what another tool wrote. */
PLUMB_API const char *plumb_run_format(const struct plumb_run *run);
PLUMB_API void plumb_run_close(struct plumb_run *run);
/* Takes in what was written since. Pointers from accessors are no longer valid. */
PLUMB_API enum plumb_status plumb_run_refresh(struct plumb_run *run, struct plumb_error *err);

PLUMB_API const char *plumb_run_path(const struct plumb_run *run);
PLUMB_API size_t plumb_run_warning_count(const struct plumb_run *run);
PLUMB_API const char *plumb_run_warning(const struct plumb_run *run, size_t i);
/* What run.json says, as keys and JSON values. */
PLUMB_API size_t plumb_run_note_count(const struct plumb_run *run);
PLUMB_API const struct plumb_note *plumb_run_note(const struct plumb_run *run, size_t i);

enum plumb_ended {
    PLUMB_ENDED_CLOSED,  /* as it should */
    PLUMB_ENDED_RUNNING, /* its recorder is alive */
    PLUMB_ENDED_STOPPED, /* the capture ended before the run: a full disk, ... */
    PLUMB_ENDED_KILLED,  /* nobody closed it */
    PLUMB_ENDED_COUNT
};
PLUMB_API const char *plumb_ended_name(enum plumb_ended ended); /* "closed", "running", ... */

struct plumb_run_rank {
    int rank;
    enum plumb_ended ended;
    const char *how;          /* what the program said, or why the capture stopped; or "" */
    const char *level, *save; /* as its recorder was told: "op", "stats"; or "" */
    int64_t first_step, last_step; /* of anything recorded; last < first: none */
    uint64_t steps;                /* that were finished */
    uint64_t records, spans, counters, collectives;
    uint64_t saved;               /* steps with saved values */
    struct plumb_dropped dropped; /* known once it is closed */
};
PLUMB_API size_t plumb_run_rank_count(const struct plumb_run *run);
PLUMB_API const struct plumb_run_rank *plumb_run_rank(const struct plumb_run *run, size_t i);
/* Of all ranks: the worst. */
PLUMB_API enum plumb_ended plumb_run_ended(const struct plumb_run *run);

struct plumb_series {
    const char *name;
    int rank;
    size_t count;
    const int64_t *steps;
    const double *values;
};
PLUMB_API size_t plumb_run_series_count(const struct plumb_run *run);
PLUMB_API const struct plumb_series *plumb_run_series(const struct plumb_run *run, size_t i);
/* `rank` -1: of the first rank that has it. NULL: there is none. */
PLUMB_API const struct plumb_series *plumb_run_find_series(const struct plumb_run *run,
                                                           const char *name, int rank);

struct plumb_run_config {
    int rank;
    const char *key, *json;
};
PLUMB_API size_t plumb_run_config_count(const struct plumb_run *run);
PLUMB_API const struct plumb_run_config *plumb_run_config(const struct plumb_run *run,
                                                          size_t i);

/* What a fingerprint was made with. Only fingerprints of one kind compare, and none with NONE. */
enum plumb_fingerprint_kind {
    PLUMB_FINGERPRINT_NONE,
    PLUMB_FINGERPRINT_OWN,        /* docs/fingerprint.md */
    PLUMB_FINGERPRINT_CRC32,      /* zlib's, of the bytes (msprobe's "md5") */
    PLUMB_FINGERPRINT_CRC32_WIDE, /* the same of a bf16 tensor made f32 first */
    PLUMB_FINGERPRINT_XOR,        /* msprobe's "xor" */
    PLUMB_FINGERPRINT_COUNT
};
PLUMB_API const char *plumb_fingerprint_kind_name(enum plumb_fingerprint_kind kind);

/* Text in what is visited lives until the visit returns. */
struct plumb_tensor_record {
    int rank;
    int64_t step;
    int64_t time_ns; /* records of other tools have no clock: the op's number in its step */
    const char *module, *op;
    const char *label; /* "module.op", with "#call" from the second call on */
    int call;
    enum plumb_phase phase;
    const char *slot;
    enum plumb_dtype dtype;
    int dims;
    const int64_t *shape;
    uint64_t fingerprint;
    enum plumb_fingerprint_kind fingerprint_kind;
    bool has_stats, has_values;
    /* Another tool's statistics: of the counts only whether there is a nan, pos_inf, neg_inf or
     * at_max is known (0 or 1); of the numbers only min, max, mean and l2, NaN if not said. */
    bool partial_stats;
    bool is_module;  /* of a whole module: the ops in it have records of their own */
    int64_t element; /* first not finite, else first at the type's largest value; or -1 */
    struct plumb_stats stats;
    const char *value_name; /* of the tensor in plumb_run_open_values(); NULL: not saved */
    const char *origin;     /* what the tool that recorded it calls the op; NULL: Plumb did */
    const char *stack; /* see plumb_record_stack(); lives as long as the run; NULL: not known */
};
/* The line of a stack that is the program's own, else the first: it ends at '\n' or 0. */
PLUMB_API const char *plumb_stack_line(const char *stack, size_t *length);
/* A step that was finished. */
struct plumb_run_step {
    int rank;
    int64_t step, begin_ns, end_ns;
};
struct plumb_span {
    int rank;
    int64_t step, begin_ns, end_ns;
    const char *track, *name;
};
struct plumb_counter {
    int rank;
    int64_t step, time_ns;
    const char *name;
    double value;
};
struct plumb_rank_collective {
    int rank;
    int64_t step;
    struct plumb_collective collective;
};

/* Which rows to visit. Zero means all but for the rank, of which that is -1. */
struct plumb_run_query {
    int rank;
    bool some_steps; /* only first_step to last_step */
    int64_t first_step, last_step;
    const char *op;   /* tensor records: of the label, with * and ?; or of "module.op" */
    const char *slot; /* tensor records: with * and ? */
};

/* Visits rows in the order they were recorded, rank after rank, until `visit` returns false.
 * Blocks that turn out damaged are left out and added to the warnings. */
PLUMB_API enum plumb_status
plumb_run_visit_records(struct plumb_run *run, const struct plumb_run_query *query,
                        bool (*visit)(void *context, const struct plumb_tensor_record *record),
                        void *context, struct plumb_error *err);
PLUMB_API enum plumb_status
plumb_run_visit_steps(struct plumb_run *run, const struct plumb_run_query *query,
                      bool (*visit)(void *context, const struct plumb_run_step *step),
                      void *context, struct plumb_error *err);
PLUMB_API enum plumb_status
plumb_run_visit_spans(struct plumb_run *run, const struct plumb_run_query *query,
                      bool (*visit)(void *context, const struct plumb_span *span),
                      void *context, struct plumb_error *err);
PLUMB_API enum plumb_status
plumb_run_visit_counters(struct plumb_run *run, const struct plumb_run_query *query,
                         bool (*visit)(void *context, const struct plumb_counter *counter),
                         void *context, struct plumb_error *err);
PLUMB_API enum plumb_status plumb_run_visit_collectives(
    struct plumb_run *run, const struct plumb_run_query *query,
    bool (*visit)(void *context, const struct plumb_rank_collective *collective), void *context,
    struct plumb_error *err);
/* Where the program called an op: the stack of its record with that label (and slot, unless NULL). NULL: it
 * has none, or is not known. */
PLUMB_API const char *plumb_run_called_at(struct plumb_run *run, int rank, int64_t step,
                                          const char *op, const char *slot);
/* The last operations of a rank before it ended, oldest first: "enter forward layers.0.linear". */
PLUMB_API enum plumb_status plumb_run_visit_flight(struct plumb_run *run, int rank,
                                                   bool (*visit)(void *context, int64_t step,
                                                                 int64_t time_ns,
                                                                 const char *what),
                                                   void *context, struct plumb_error *err);
/* The saved tensors of a step, to be closed with plumb_file_close(). */
PLUMB_API enum plumb_status plumb_run_open_values(const struct plumb_run *run, int rank,
                                                  int64_t step, struct plumb_file **file,
                                                  struct plumb_error *err);

/* ---- where values stopped being finite --------------------------------------------------- */

/* The first op in the order of execution over all ranks whose inputs were finite and whose output was
 * not, or that reached its type's largest value; and what followed. What a collective brought from
 * another rank began there. */
struct plumb_nan;

struct plumb_nan_place {
    int rank;
    int64_t step;
    const char *op;   /* its label; the series' name if only that is known */
    const char *slot; /* "series" then */
    enum plumb_phase phase;
    enum plumb_dtype dtype;
    int64_t element;  /* -1: not known */
    const char *kind; /* "nan", "inf", "-inf", "saturated" */
    /* "critical": made of finite values; "high": passed on; "medium": taken in, not passed on */
    const char *severity;
    const char *stack; /* of the origin, see plumb_record_stack(); NULL: not known */
};

/* The run must outlive the result. */
PLUMB_API enum plumb_status plumb_nan_find(struct plumb_run *run, struct plumb_nan **nan,
                                           struct plumb_error *err);
PLUMB_API void plumb_nan_free(struct plumb_nan *nan);
/* NULL: every value that was recorded is finite. */
PLUMB_API const struct plumb_nan_place *plumb_nan_origin(const struct plumb_nan *nan);
/* What followed, in order; of many the first. */
PLUMB_API size_t plumb_nan_chain_count(const struct plumb_nan *nan);
PLUMB_API const struct plumb_nan_place *plumb_nan_chain(const struct plumb_nan *nan, size_t i);

/* ---- where two runs part ------------------------------------------------------------------ */

/* The parts of training in the order in which they are asked for a first difference. */
enum plumb_stage {
    PLUMB_STAGE_CONFIG,
    PLUMB_STAGE_DATA,
    PLUMB_STAGE_WEIGHTS,
    PLUMB_STAGE_FORWARD,
    PLUMB_STAGE_BACKWARD,
    PLUMB_STAGE_REDUCE,
    PLUMB_STAGE_UPDATE,
    PLUMB_STAGE_COUNT
};
PLUMB_API const char *plumb_stage_name(enum plumb_stage stage); /* "config", "data", ... */

/* What a statement about a difference rests on. */
enum plumb_basis {
    PLUMB_BASIS_BITS,       /* fingerprints: different, but not by how much */
    PLUMB_BASIS_STATISTICS, /* at least by this much */
    PLUMB_BASIS_VALUES,     /* by this much */
    PLUMB_BASIS_SERIES,     /* a scalar by step */
    PLUMB_BASIS_STRUCTURE,  /* there on one side only */
    PLUMB_BASIS_SETTING,    /* a setting that differs */
    PLUMB_BASIS_COUNT
};
PLUMB_API const char *plumb_basis_name(enum plumb_basis basis); /* "bits", ... */

/* A difference that nothing before it explains. */
struct plumb_run_root {
    enum plumb_stage stage;
    int rank; /* the first that shows it */
    int64_t step;
    const char *op, *slot; /* a series' name and "series" if only that is known */
    enum plumb_verdict verdict;
    enum plumb_basis basis;
    double error;   /* relative, of what came out; NaN: not known */
    double before;  /* of what went in */
    double allowed; /* what that and rounding explain */
    size_t similar; /* ops and ranks that show the same */
    const char *reason;
};

/* What is known about one part of training. */
struct plumb_run_stage {
    enum plumb_stage stage;
    bool known; /* something of it is recorded on both sides */
    enum plumb_verdict verdict;
    const char *detail;
};

enum plumb_series_class {
    PLUMB_SERIES_SAME,
    PLUMB_SERIES_NOISE, /* inside the band */
    PLUMB_SERIES_FIRST, /* different from the first step on */
    PLUMB_SERIES_DRIFT, /* equal, then further and further apart */
    PLUMB_SERIES_SPIKE, /* apart for a few steps */
    PLUMB_SERIES_NONFINITE,
    PLUMB_SERIES_CLASS_COUNT
};
PLUMB_API const char *plumb_series_class_name(enum plumb_series_class series_class);

struct plumb_series_diff {
    const char *name;
    int rank;
    enum plumb_series_class series_class;
    size_t common; /* steps both have */
    bool differs;
    int64_t step; /* the first that is not equal to the last bit */
    double a, b;  /* there */
    bool leaves;  /* the band, at: */
    int64_t leaves_step;
    double worst;   /* largest relative difference */
    double band;    /* relative difference that is no news */
    int step_shift; /* B counts its steps so much later: 1 if A begins with 0 and B with 1 */
};

struct plumb_setting_diff {
    const char *name; /* the canonical one */
    const char *key_a, *key_b;
    const char *a, *b; /* JSON; NULL: not there */
    int rank;
    bool numeric; /* changes what is computed */
    bool
        derived; /* what several settings amount to: a and b are words or numbers, the keys "derived" */
    enum plumb_stage acts;
};

struct plumb_run_diff;

struct plumb_run_diff_options {
    struct plumb_run *const *noise; /* repeated reference runs: what is normal between two */
    size_t noise_count;
    bool everything; /* go on after the answer is clear */
    const struct plumb_progress *progress;
    int threads; /* for saved values; 0: one a processor */
    /* How tensors are spread over ranks: paths of files as docs/diff-runs.md shows them. Such a side is put
     * together and compared as one rank. NULL: as the run recorded it (parallel.layout), if the numbers of
     * ranks differ; else rank by rank. */
    const char *layout_a, *layout_b;
    const char *map_path;       /* names in A and B that belong together; NULL: none */
    const char *write_map_path; /* where to write the names that were found to; NULL: nowhere */
};

/* `options` may be NULL. The runs must outlive the result. */
PLUMB_API enum plumb_status plumb_run_diff_new(struct plumb_run *a, struct plumb_run *b,
                                               const struct plumb_run_diff_options *options,
                                               struct plumb_run_diff **diff,
                                               struct plumb_error *err);
PLUMB_API void plumb_run_diff_free(struct plumb_run_diff *diff);
PLUMB_API enum plumb_verdict plumb_run_diff_verdict(const struct plumb_run_diff *diff);
PLUMB_API const char *plumb_run_diff_summary(const struct plumb_run_diff *diff);
/* Roots come in the order they matter; the first is the answer. */
PLUMB_API size_t plumb_run_diff_root_count(const struct plumb_run_diff *diff);
PLUMB_API const struct plumb_run_root *plumb_run_diff_root(const struct plumb_run_diff *diff,
                                                           size_t i);
/* Records that differ and that the roots explain. */
PLUMB_API uint64_t plumb_run_diff_victims(const struct plumb_run_diff *diff);
PLUMB_API const struct plumb_run_stage *plumb_run_diff_stage(const struct plumb_run_diff *diff,
                                                             enum plumb_stage stage);
PLUMB_API size_t plumb_run_diff_series_count(const struct plumb_run_diff *diff);
PLUMB_API const struct plumb_series_diff *
plumb_run_diff_series(const struct plumb_run_diff *diff, size_t i);
PLUMB_API size_t plumb_run_diff_setting_count(const struct plumb_run_diff *diff);
PLUMB_API const struct plumb_setting_diff *
plumb_run_diff_setting(const struct plumb_run_diff *diff, size_t i);

/* What to record next of two runs that part: which steps, ops and ranks at which level, and the
 * command lines; or that the answer is clear. The runs must outlive it. `progress` may be NULL. */
struct plumb_plan;
PLUMB_API enum plumb_status plumb_plan_new(struct plumb_run *a, struct plumb_run *b,
                                           const struct plumb_progress *progress,
                                           struct plumb_plan **plan, struct plumb_error *err);
PLUMB_API void plumb_plan_free(struct plumb_plan *plan);
PLUMB_API enum plumb_verdict plumb_plan_verdict(const struct plumb_plan *plan);
/* Nothing has to be recorded: the runs are alike, or what there is names the cause. */
PLUMB_API bool plumb_plan_is_clear(const struct plumb_plan *plan);

/* ---- comparing while training --------------------------------------------------------------- */

/* A recorder's tensor records against those that another run has of the same step, op, call and slot. Values
 * that were recorded lately are kept in bounded memory: those around the first record that differs can
 * be saved, and nothing else is. */
struct plumb_against;

/* The first record that differs. */
struct plumb_divergence {
    int64_t step;
    const char *op, *slot; /* its label */
    enum plumb_phase phase;
    enum plumb_basis basis;
    bool beyond_rounding;
    const char *reason; /* one sentence */
};

PLUMB_API enum plumb_status plumb_against_open(const char *run, int rank,
                                               struct plumb_against **against,
                                               struct plumb_error *err);
PLUMB_API void plumb_against_close(struct plumb_against *against);
/* For plumb_recorder_observe(). */
PLUMB_API const struct plumb_record_observer *
plumb_against_observer(struct plumb_against *against);
/* A step begins: its records of the other run are read. */
PLUMB_API enum plumb_status plumb_against_step(struct plumb_against *against, int64_t step,
                                               struct plumb_error *err);
/* The first that differs in its bits, or by more than rounding and its inputs explain; or NULL. What it
 * returns stays. */
PLUMB_API const struct plumb_divergence *plumb_against_first(struct plumb_against *against,
                                                             bool beyond_rounding);
/* Why nothing is compared any more: the programs do other ops; or NULL. */
PLUMB_API const char *plumb_against_stopped(struct plumb_against *against);

struct plumb_against_counts {
    uint64_t records, steps; /* compared */
    size_t saved, gone;      /* values around the divergence: kept; no longer there */
};
PLUMB_API void plumb_against_counts(struct plumb_against *against,
                                    struct plumb_against_counts *counts);
/* Writes the values around the divergence: an npz. Nothing to save is not a failure, and no file. */
PLUMB_API enum plumb_status plumb_against_save(struct plumb_against *against, const char *path,
                                               struct plumb_error *err);

/* ---- before a loss spikes ------------------------------------------------------------------ */

/* A gradient or update norm that rose far above its own last steps. */
struct plumb_spike {
    size_t alarms;      /* 0: nothing rose, and the rest says nothing */
    const char *series; /* that rose */
    int rank;
    int64_t step;      /* of the alarm: at this step it was */
    double times;      /* its median of the last */
    size_t over;       /* steps */
    int64_t loss_step; /* where it peaks within 20 steps; -1: it stays below 1.3 medians */
    double loss_times;
};

/* Of several alarms the first that the loss followed, else the first. */
PLUMB_API void plumb_spike_find(const struct plumb_run *run, struct plumb_spike *spike);

/* ---- the smallest part that does it ---------------------------------------------------------- */

enum plumb_try {
    PLUMB_TRY_BAD,  /* this part does not do it */
    PLUMB_TRY_GOOD, /* it does */
    PLUMB_TRY_STOP  /* no more tries */
};

struct plumb_minimize_options {
    enum plumb_try (*test)(void *context, const bool *chosen, size_t count);
    void *context;
};

/* Delta debugging: `set` holds things that do it together (the caller has tried that) and is made
 * smaller until nothing can be left out. *smallest is false if the tries were stopped before. */
PLUMB_API enum plumb_status plumb_minimize(const struct plumb_minimize_options *options,
                                           bool *set, size_t count, bool *smallest,
                                           struct plumb_error *err);

/* ---- before training starts ---------------------------------------------------------------- */

enum plumb_check_status {
    PLUMB_CHECK_FINE,
    PLUMB_CHECK_NOTE,
    PLUMB_CHECK_WARNING,
    PLUMB_CHECK_ERROR,
    PLUMB_CHECK_STATUS_COUNT
};
PLUMB_API const char *plumb_check_status_name(enum plumb_check_status status); /* "fine", ... */

struct plumb_check_row {
    enum plumb_check_status status;
    const char *what;
    const char *a, *b; /* b is NULL if it is about A alone */
    const char *why;   /* or NULL */
};

struct plumb_check;

/* Parameters, batch, seeds and settings of a run; of two if `b` is not NULL. */
PLUMB_API enum plumb_status plumb_check_new(struct plumb_run *a, struct plumb_run *b,
                                            struct plumb_check **check,
                                            struct plumb_error *err);
PLUMB_API void plumb_check_free(struct plumb_check *check);
PLUMB_API size_t plumb_check_row_count(const struct plumb_check *check);
PLUMB_API const struct plumb_check_row *plumb_check_row(const struct plumb_check *check,
                                                        size_t i);
PLUMB_API enum plumb_check_status plumb_check_worst(const struct plumb_check *check);

/* ---- reports -------------------------------------------------------------------------- */

struct plumb_show_options {
    bool stats;
    bool json;
    int width;                /* columns of a text report; 0: unlimited */
    const char *const *names; /* only these tensors (exact, or with * and ?); NULL: all */
    size_t name_count;
    struct plumb_scan_options scan;
};

PLUMB_API enum plumb_status plumb_report_file(struct plumb_file *file,
                                              const struct plumb_show_options *options,
                                              const struct plumb_sink *sink,
                                              struct plumb_error *err);

enum plumb_report_form {
    PLUMB_REPORT_TEXT,
    PLUMB_REPORT_JSON,
    PLUMB_REPORT_CSV,
    PLUMB_REPORT_HTML /* one page that needs nothing else */
};

struct plumb_diff_report_options {
    enum plumb_report_form form;
    size_t top;                 /* pairs in a text report; 0: all */
    const char *const *metrics; /* columns; NULL: the usual ones in text, all elsewhere */
    size_t metric_count;
    int width;
};

PLUMB_API enum plumb_status plumb_report_diff(const struct plumb_diff *diff,
                                              const struct plumb_diff_report_options *options,
                                              const struct plumb_sink *sink,
                                              struct plumb_error *err);

struct plumb_run_diff_report_options {
    enum plumb_report_form form;
    bool all; /* text: the tables behind the answer as well */
    int width;
};
PLUMB_API enum plumb_status
plumb_report_run_diff(const struct plumb_run_diff *diff,
                      const struct plumb_run_diff_report_options *options,
                      const struct plumb_sink *sink, struct plumb_error *err);

PLUMB_API enum plumb_status plumb_report_plan(const struct plumb_plan *plan, bool json,
                                              const struct plumb_sink *sink,
                                              struct plumb_error *err);

struct plumb_run_report_options {
    bool json;
    int width;          /* columns of a text report; 0: unlimited */
    int rank;           /* -1: all */
    const char *series; /* this series as a chart */
    const char *op;     /* the records of these ops, with * and ? */
    const char *slot;   /* the records of these slots, with * and ? */
    bool one_step;      /* of `step` alone */
    int64_t step;
    bool values; /* the saved values of the records */
};

PLUMB_API enum plumb_status plumb_report_run(struct plumb_run *run,
                                             const struct plumb_run_report_options *options,
                                             const struct plumb_sink *sink,
                                             struct plumb_error *err);

PLUMB_API enum plumb_status plumb_report_check(const struct plumb_check *check, bool json,
                                               int width, const struct plumb_sink *sink,
                                               struct plumb_error *err);

PLUMB_API enum plumb_status plumb_report_nan(const struct plumb_nan *nan,
                                             enum plumb_report_form form, /* no CSV */
                                             const struct plumb_sink *sink,
                                             struct plumb_error *err);

/* Everything in a run for other programs, one function a form. Files appear whole or not at all.
 * Each form is an object of its own in the static library: who does not call plumb_export_sqlite()
 * needs no SQLite. */
/* A directory with one file a table. */
PLUMB_API enum plumb_status plumb_export_csv(struct plumb_run *run, const char *directory,
                                             struct plumb_error *err);
PLUMB_API enum plumb_status plumb_export_json(struct plumb_run *run, const char *path,
                                              struct plumb_error *err);
/* Numbers only: series, and the columns of tensor records. */
PLUMB_API enum plumb_status plumb_export_npz(struct plumb_run *run, const char *path,
                                             struct plumb_error *err);
/* A database with one table a kind of row. PLUMB_UNSUPPORTED if Plumb was built without SQLite. */
PLUMB_API enum plumb_status plumb_export_sqlite(struct plumb_run *run, const char *path,
                                                struct plumb_error *err);

/* The layout of Ascend's msprobe: step*, rank*, dump.json and the saved values; its compare command
 * takes it. */
PLUMB_API enum plumb_status plumb_export_msprobe(struct plumb_run *run, const char *directory,
                                                 struct plumb_error *err);

/* A registry, one line an entry. */
PLUMB_API enum plumb_status plumb_report_list(enum plumb_list list, bool json,
                                              const struct plumb_sink *sink,
                                              struct plumb_error *err);
/* Everything of that name in any registry; PLUMB_NOT_FOUND if there is nothing. */
PLUMB_API enum plumb_status plumb_report_entry(const char *name, bool json,
                                               const struct plumb_sink *sink,
                                               struct plumb_error *err);
PLUMB_API enum plumb_status plumb_report_conversion(const char *out_path,
                                                    const struct plumb_convert_result *result,
                                                    bool json, const struct plumb_sink *sink,
                                                    struct plumb_error *err);

#ifdef __cplusplus
}
#endif

#endif
