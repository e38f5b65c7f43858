"""How large a description may be: files may come from anybody."""

VERSION = 1  # of descriptions
MOST_ARMS = 1_000
MOST_CELLS = 100_000  # numbers of a table
MOST_STEPS = 20_000  # of all arms' formulas together
LARGEST_JSON = 8_000_000  # bytes of a file
LARGEST_TOML = 1_000_000
