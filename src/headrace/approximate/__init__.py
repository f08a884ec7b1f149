"""Approximate windows (Aion): which can be answered early, from what, with which bounds."""
