"""Messages from one rank to another: send, recv, isend, irecv, batch_isend_irecv.

A message is a collective of two. Its group is the way it goes, `0>1`, with the ranks of the whole job, and the tag if it has one:
the n-th that is sent on a way is the n-th that is received there, whatever else the two ranks do. What goes in on one side
and comes out on the other are records of the same place. What the receiver's memory held before is no input.
"""
import torch

SENDS, RECEIVES, RECEIVES_FROM_ANY = "send", "recv_", "recv_any_source_"
NAMES = {SENDS: "send", RECEIVES: "recv", RECEIVES_FROM_ANY: "recv"}
OP = "message"


class Message:
    """One call of an operator: c10d::send(tensors, group, to, tag) and the like."""

    def __init__(self, operator, arguments):
        self.sends = operator == SENDS
        self.group = torch.distributed.ProcessGroup.unbox(arguments[1])
        self.peer = None if operator == RECEIVES_FROM_ANY else arguments[2]  # its rank in the group
        self.tag = arguments[-1]

    def way(self):
        """None while nobody knows who sends."""
        if self.peer is None or self.peer < 0:
            return None
        ranks = torch.distributed.get_process_group_ranks(self.group)
        own, other = torch.distributed.get_rank(), ranks[self.peer]
        way = f"{own}>{other}" if self.sends else f"{other}>{own}"
        if len(ranks) < torch.distributed.get_world_size():
            way += " of " + ",".join(map(str, ranks))
        return f"{way} tag {self.tag}" if self.tag else way

    def way_it_came(self, work):
        """Of a message from anybody; work: None if it has not come."""
        try:
            self.peer = None if work is None else work._source_rank()
        except RuntimeError:  # not every backend knows
            self.peer = None
        return self.way() or f"?>{torch.distributed.get_rank()}"
