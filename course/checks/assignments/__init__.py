"""One module an assignment: its properties and its named mistakes."""
