"""One statement per file: docstring, value, bound, and ``certify`` returning a Certificate."""
