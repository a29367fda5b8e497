"""What a net's arcs alone say about it: flows, bounds, siphons and traps, conflicts, classes, and bounds on throughput."""
