"""Random problems with known answers: what tools/try.py draws, solves and judges."""
