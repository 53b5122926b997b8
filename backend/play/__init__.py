"""Playing by hand: a person, or a script in a person's place, plays an environment and gets the rewards a model would.

    Sitting     one episode being played, worth shown after every turn
    Sittings    all that are being played in this process, by browsers that know nothing of each other
    Baseline    what scripted players earn over a number of tasks
    rehearsal   a few games of theirs, for terms to be tried on before training
    fork_of     a stored episode that someone else is to play on from one of its turns
    keep        writes episodes into the run `played`, where they are replayed and compared like any other
"""

from backend.play.baseline import Baseline, Row, by_hand
from backend.play.choosing import Chosen, chosen, players_of, worth_by
from backend.play.forking import Fork, Known, fork_of, forks_of, unforkable
from backend.play.keeping import Kept, keep
from backend.play.sitting import Sitting
from backend.play.sittings import Seat, Series, Sittings

__all__ = ["Baseline", "Chosen", "Fork", "Kept", "Known", "Row", "Seat", "Series", "Sitting", "Sittings", "by_hand",
           "chosen", "fork_of", "forks_of", "keep", "players_of", "unforkable", "worth_by"]
