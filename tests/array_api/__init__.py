"""The array API standard: what it asks for, and how much of that a namespace gives."""
