"""The state of a pipeline, its records, and what to do next: no pyspark, no threads of its own."""
