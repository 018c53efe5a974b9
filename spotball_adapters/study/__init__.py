"""Run human studies, in which people do the benchmark's tasks in a browser: locate the hidden ball, or the object that
a person looks at."""
