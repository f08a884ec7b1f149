"""Measures what a system of live queries really holds: driver and system under test apart."""
