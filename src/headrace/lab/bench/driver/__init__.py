"""The driver: makes events by the clock, holds them in queues, serves them, and notes results."""
