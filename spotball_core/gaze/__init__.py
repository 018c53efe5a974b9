"""The second task: which object does a person look at, and do models follow the eyes or the head?"""
