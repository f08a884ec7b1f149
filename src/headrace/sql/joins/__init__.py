"""Statements that join streams: who meets whom, and what is kept of each before."""
