"""Progress of event time: numbers in; watermarks, delays and the next sweep out."""
