"""The Share button of a head. What it opens is in ui.share, which draws with the pages' own parts and so can't be theirs."""

from ui.written import attribute, query


def button(small: bool = False, **what: str | int | None) -> str:
    """The closed menu of `run` and, of it, `id` or a group: `step`, `group`, `phase`, `attempt`. share.js fills it."""
    whose = query(what)
    return (f'<details class="o-share" data-share="{attribute(whose)}"><summary class="o-button{" o-small" * small}" '
            'title="Take it away as a file, or copy its address">Share</summary>'
            '<div class="o-share-menu" role="group" aria-label="Share"></div></details>')
