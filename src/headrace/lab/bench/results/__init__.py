"""From what the driver saw to figures, records, pictures and pages."""
