"""The numba kernels of the run time: scalars and small arrays, no checks, no allocation per branch.

Everything here takes the packed arm of `arm.pack` and writes into arrays that the caller made.
"""
