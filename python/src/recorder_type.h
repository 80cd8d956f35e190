/* recorder_type.h - `plumb._plumb.Recorder`, and how other files of the extension reach into it. */
#ifndef PLUMB_PYTHON_RECORDER_TYPE_H
#define PLUMB_PYTHON_RECORDER_TYPE_H

#include "python.h"

#include "plumb.h"

/* The recorder of a Recorder object: NULL once it is closed, or for any other object. It lives
 * until close(), so that whoever keeps the pointer has to be detached before. */
struct plumb_recorder *plumb_recorder_of(PyObject *object);
/* Records `tensor` under the place entered. False: its values cannot be seen from here. */
bool plumb_recorder_take(struct plumb_recorder *recorder, const char *slot, PyObject *tensor);
/* A pending exception is counted, its text kept if it is the first, and cleared: nothing that
 * goes wrong here may reach the training. */
void plumb_recorder_swallow(PyObject *object);

#endif
