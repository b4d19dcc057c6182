"""From subspaces to answers: classifiers, verifiers, scores."""
