/*
 * torch_silence.h - not hearing of the operators that run inside of a recorded one.
 *
 * They are not recorded, but torch boxes the arguments of every operator that it tells us of. torch keeps a list of
 * callbacks for each thread; where it is found (see torch_layout.h for how), its length is 0 meanwhile.
 * Where it is not, torch is asked to be silent, which costs as much as hearing of two operators. Neither is done
 * while anybody else listens.
 */
#ifndef PLUMB_PYTHON_TORCH_SILENCE_H
#define PLUMB_PYTHON_TORCH_SILENCE_H

#include "torch_symbols.h"

struct plumb_silence {
    const struct plumb_torch_record *during; /* the record whose operator runs; NULL: none */
    unsigned char *list; /* this thread's callbacks of operators; NULL: not found */
    bool looked;
};

/* Of one thread. `own` was added once and alone; `inner`: operators that are expected inside. */
void plumb_silence_begin(struct plumb_silence *silence, const struct plumb_torch_symbols *torch,
                         const struct plumb_torch_callback *own, int inner,
                         const struct plumb_torch_record *record);
/* False: it was not this record that began it. */
bool plumb_silence_end(struct plumb_silence *silence, const struct plumb_torch_symbols *torch,
                       const struct plumb_torch_record *record);
/* An operator was heard of. If it should not have been, the list is not what it seemed to be. */
void plumb_silence_broken(struct plumb_silence *silence);

#endif
