"""Models from files, and models for other programs."""
