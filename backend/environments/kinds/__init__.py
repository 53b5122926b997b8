"""The kinds of `use:`; `backend.environments.sources` says what a kind is and which there are."""
