"""Run human studies, in which people do the benchmark's tasks in a browser.

They locate the hidden ball, or choose the object that the person in a photo looks at.
"""
