"""How what people give becomes requests: texts, options and files in, JSON of the API out."""
