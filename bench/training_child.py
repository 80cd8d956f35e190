"""Trains one of the networks of nets.py on demand: a line on standard input asks for one more block of steps,
the answer is its CPU time, its wall time and its last loss. capture.py starts it with and without Plumb.

    training_child.py NET THREADS STEPS
"""
import sys
import time

import torch

import nets


def main():
    name, threads, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    _, step = nets.build(name)
    for _ in range(3):
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(steps):
            loss = step()
        print(time.process_time() - cpu, time.perf_counter() - wall, loss.item().hex(), flush=True)


if __name__ == "__main__":
    main()
