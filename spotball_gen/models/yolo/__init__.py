"""YOLO models: prepare their input and read their output."""
