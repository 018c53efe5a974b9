"""Write requests to files in batches, and import the replies from files. Sending the requests is up to the user."""
