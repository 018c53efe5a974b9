"""Write requests to files in batches, and import the replies from files.

This package does not send the requests. The user sends the files to a service, or runs a model on them.
"""
