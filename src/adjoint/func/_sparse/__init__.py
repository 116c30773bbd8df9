"""How sparse Jacobians are found: patterns by tracing what depends on what, and colorings of them."""
