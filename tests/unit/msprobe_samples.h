/* msprobe_samples.h - small dumps in msprobe's form, old and new, for tests. */
#ifndef PLUMB_TESTS_MSPROBE_SAMPLES_H
#define PLUMB_TESTS_MSPROBE_SAMPLES_H

/* One float32 tensor of shape [2, 3] with these statistics. */
#define MSPROBE_TENSOR(max, min, mean, norm)                                                   \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, 3], "           \
    "\"Max\": " max ", \"Min\": " min ", \"Mean\": " mean ", \"Norm\": " norm                  \
    ", \"requires_grad\": false}"

#define MSPROBE_HEAD                                                                           \
    "{\"task\": \"statistics\", \"level\": \"mix\", \"framework\": \"pytorch\", "              \
    "\"dump_data_dir\": null, \"data\": {"

/* Two convolutions in one module, a module, its backward and a parameter's gradient. */
static const char msprobe_dump[] =
    MSPROBE_HEAD "\"Functional.conv2d.4.forward\": {\"input_args\": [" MSPROBE_TENSOR(
        "1.5", "-2", "0.25",
        "3") ", null, [{\"type\": \"int\", \"value\": 2}], {\"type\": \"str\", \"value\": "
             "\"same\"}], "
             "\"input_kwargs\": {\"eps\": {\"type\": \"float\", \"value\": 1e-05}}, "
             "\"is_recompute\": "
             "false, \"output\": [" MSPROBE_TENSOR(
                 "1", "0", "null",
                 "null") "]},"
                         "\"Functional.conv2d.7.forward\": {\"input_args\": [], "
                         "\"input_kwargs\": {}, \"output\": "
                         "[[" MSPROBE_TENSOR("NaN", "NaN", "NaN", "NaN") ", " MSPROBE_TENSOR(
                             "Infinity", "-1", "Infinity",
                             "Infinity") "]]},"
                                         "\"Module.layer.0.conv.Conv2d.forward.0\": "
                                         "{\"input_args\": [], \"input_kwargs\": {}, "
                                         "\"output\": {\"logits\": " MSPROBE_TENSOR(
                                             "2", "1", "1.5",
                                             "4") "}, \"parameters\": "
                                                  "{\"weight\": " MSPROBE_TENSOR(
                                                      "3", "1", "2",
                                                      "5") "}},"
                                                           "\"Functional.conv2d.7.backward\": "
                                                           "{\"input\": [" MSPROBE_TENSOR(
                                                               "1", "0", "0",
                                                               "1") "], \"output\": [null]},"
                                                                    "\"Module.layer.0.conv."
                                                                    "Conv2d.parameters_grad."
                                                                    "0\": {\"weight\": "
                                                                    "[" MSPROBE_TENSOR(
                                                                        "9", "-9", "0",
                                                                        "11") "]}}}";

static const char msprobe_construct[] =
    "{\"Functional.conv2d.4.forward\": \"Module.layer.0.conv.Conv2d.forward.0\", "
    "\"Functional.conv2d.7.forward\": [\"Module.layer.0.conv.Conv2d.forward.0\", 0], "
    "\"Functional.conv2d.7.backward\": \"Module.layer.0.conv.Conv2d.backward.0\", "
    "\"Module.layer.0.conv.Conv2d.forward.0\": null}";

#endif
