"""Arrow and numpy kernels: classify, slice, reduce, combine, expand, finish. No Spark, no I/O."""
