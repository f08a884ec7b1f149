"""What a Python worker keeps from task to task."""
