"""Trains one of the networks of nets.py on demand; capture.py starts it with and without Plumb, see turns.py.

    training_child.py NET THREADS
"""
import sys

import torch

import nets
import turns


def main():
    torch.set_num_threads(int(sys.argv[2]))
    _, step = nets.build(sys.argv[1])
    turns.answer_turns(lambda: step().item(), warm_up=2)


if __name__ == "__main__":
    main()
