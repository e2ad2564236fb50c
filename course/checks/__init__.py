"""What grades a learner's function or module: properties, named mistakes, one sentence for each."""
