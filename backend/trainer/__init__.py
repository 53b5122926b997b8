"""One training run: `python -m backend.trainer runs/<id>`. The only room with torch, transformers and TRL."""
