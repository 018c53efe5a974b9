"""Plan a benchmark from a pilot: how many images, answers and people a comparison needs."""
