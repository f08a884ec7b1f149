"""One pipeline on Spark: its batches, its turns, its transactions."""
