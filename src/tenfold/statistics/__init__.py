"""What is computed of samples once: moments that add up, samples in memory, passes over stores."""
