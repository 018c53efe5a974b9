"""A synthetic match video: nobody takes it for footage, and all that is in it is known."""
