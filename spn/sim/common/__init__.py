"""What the kernels of both methods of simulation share."""
