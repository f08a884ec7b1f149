"""A virtual clock that drives the scheduling policies and the progress code as they are."""
