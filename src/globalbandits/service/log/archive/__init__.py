"""What is done with a whole log: export, import, copy, tables for analyses, and pruning."""
