/*
 * call_stacks.h - where in the program the calling thread is, as a number of plumb_record_stack().
 *
 * Walking all frames for every operator would cost more than recording it. So the frames of a module's call are
 * walked when it is entered, and for an operator only those since then; what was seen before is found by
 * the code objects and positions of the frames, without looking at a line of text.
 */
#ifndef PLUMB_PYTHON_CALL_STACKS_H
#define PLUMB_PYTHON_CALL_STACKS_H

#include "python.h"

#include <stdint.h>

/* With the GIL held; 0: not known, or stacks are not recorded. `below` is the stack of the call of
 * the module that is running, 0 outside of modules. */
uint32_t plumb_call_stack(uint32_t below);
/* The same for a module that is being entered: called by a hook of it. */
uint32_t plumb_call_stack_of_module(uint32_t below);
/* plumb_call_stack() for a thread that may or may not hold the GIL. */
uint32_t plumb_call_stack_anywhere(uint32_t below);

#endif
