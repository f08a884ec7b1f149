"""Sessions that tell each other progress and cost."""
