"""Algorithm 1: the pair of scatters of a method, solved mode by mode until it converges."""
