"""The Spark edge: the only importer of pyspark."""
