"""`./run bench`: solvers compared, promises counted, throughput and round trips; nothing at run time needs it."""
