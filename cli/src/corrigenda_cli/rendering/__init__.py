"""How answers look to people: pure functions from a message to something that a terminal can draw.

They get messages that `safe_text.neutralised` went over, and a `View` that says in which zone times are shown. None of
them reads a clock, an environment or a stream.
"""
