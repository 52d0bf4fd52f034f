"""What is read off a matrix or a system: spectra, overlaps, limiting laws, difficulty."""
