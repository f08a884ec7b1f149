"""Progress of event time: numbers in, watermarks out."""
