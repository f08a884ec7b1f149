"""Windows answered before all of their tuples have come, against a virtual clock (Aion)."""
