"""The command line: parsing and printing, nothing else."""
