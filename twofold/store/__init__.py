"""What is written is whole: atomic files, digests, locks, tensors and frames that verify."""
