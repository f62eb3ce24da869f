"""What all databases share: statements, their results, and the engine that runs them."""
