"""Define items, the images from videos that become scenes, and the interface of the stages that process them."""
