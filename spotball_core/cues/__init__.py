"""Which cues guesses follow: a mixture of strategies, and how near players guesses are."""
