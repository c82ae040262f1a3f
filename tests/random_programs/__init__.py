"""Random programs as text, by the reference engine, oracles, and bulk evaluation in every way."""
