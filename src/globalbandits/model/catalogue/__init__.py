"""Ready-made models of demand and dose response, each a formula with known constants."""
