"""The offline model: it plays the part of Gemini, and knows only what stands in its request."""
