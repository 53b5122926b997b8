"""TextArena's games for one player, by name, as of textarena 0.7.4. `use: textarena:NAME` plays one.

A new version of the library may have others: `tests/test_textarena.py` holds this list to what is installed.
"""

from dataclasses import dataclass

WORDS = ("corpora/words",)
TAGGED_WORDS = (*WORDS, "taggers/averaged_perceptron_tagger_eng")

MODEL = "asks a language model at OpenRouter about every move, which costs money; it isn't played here"

MAKING = "takes up to half a minute to make a task, too long for a batch to wait"


@dataclass(frozen=True)
class TextGame:
    name: str
    title: str
    about: str
    turns: int | None
    """Valid moves until the game ends itself; None: it sets no limit."""
    winnable: bool = True
    """Whether a reward of 1 at the end means that it was won; else the reward is a score."""
    seeded: bool = True
    """Whether seeds make different tasks; else it is always the same one."""
    slow: bool = False
    """Whether a puzzle takes long to make, so that it is made once for all who play it."""
    fetches: tuple[str, ...] = ()
    """NLTK data it needs, as NLTK names their places; they have to be on the machine before it is played."""
    refused: str = ""
    """Why it isn't played here, after its name."""

    @property
    def fetching(self) -> str:
        """The command that fetches what it needs."""
        return f"python -m nltk.downloader {' '.join(place.split('/')[1] for place in self.fetches)}"


def _family(name: str, title: str, about: str, versions: dict[str, int | None], **more) -> list[TextGame]:
    """`versions`: what follows the name -> turns."""
    return [TextGame(name + version, f"{title} ({version.removeprefix('-').replace('-', ' ')})" if version else title,
                     about, turns, **more) for version, turns in versions.items()]


GAMES: dict[str, TextGame] = {game.name: game for family in (
    _family("2048-v0", "2048", "Slide tiles so that equal ones merge, until one shows the target.", dict.fromkeys((
        "", "-ultra-easy", "-mega-easy", "-super-easy", "-very-easy", "-easy", "-hard", "-very-hard", "-extreme",
        "-3x3", "-5x5", "-6x6", "-8x8", "-10x10"))),
    _family("Bandit-v0", "Bandit", "Press buttons to find out which pays most, then name it. Teaches to explore.",
            {"": 20, "-hard": 40}),
    _family("Blackjack-v0", "Blackjack", "Hit or stand over several hands; the reward is the share of hands won.",
            {"": None, "-long": None}, winnable=False),
    _family("Countdown-v0", "Countdown", "Combine six numbers to reach a target. Teaches arithmetic search.",
            {"": 12}, seeded=False),
    _family("Crosswords-v0", "Crosswords", "Fill a small crossword letter by letter.", {"": 30, "-hardcore": 30}),
    _family("Cryptarithm-v0", "Cryptarithm", "Find a digit for each letter so that SEND + MORE = MONEY holds.",
            {"": 100}, seeded=False),
    _family("FifteenPuzzle-v0", "Fifteen puzzle", "Slide 15 tiles into order.", {"": 200}),
    _family("FrozenLake-v0", "Frozen lake", "Walk over the ice to the goal without falling into a hole.",
            {"": 100, "-random": 100, "-hardcore": 100}),
    _family("GuessTheNumber-v0", "Guess the number", "Find a number by guesses that are called too high or too low.",
            {"": 10, "-hardcore": 10}),
    _family("LightsOut-v0", "Lights out", "Put out all lights; each press also toggles the neighbours.", {"": 20}),
    _family("LogicPuzzle-v0", "Logic puzzle", "Work out from clues what belongs together.", {"": 30, "-hard": 30}),
    _family("Mastermind-v0", "Mastermind", "Find a code from how many of each guess are right. Teaches deduction.",
            {"": 20, "-hard": 30, "-extreme": 50}),
    _family("Minesweeper-v0", "Minesweeper", "Reveal every cell that hides no mine.",
            {"": 100, "-small": 100, "-medium": 100, "-hard": 100}),
    _family("PegJump-v0", "Peg jump", "Jump pegs over each other until one is left.", {"": None}, seeded=False),
    _family("RushHour-v0", "Rush hour", "Move cars out of the way of the red one.", {"": None}, slow=True),
    _family("Secretary-v0", "Secretary", "See values one after another and accept the largest. Teaches when to stop.",
            {"": 5, "-long": 10}),
    _family("Set-v0", "Set", "Find three cards that are alike or differ in every feature; the reward is the count.",
            {"": 20}, winnable=False),
    _family("Slitherlink-v0", "Slitherlink", "Draw one loop that passes each number as often as it says.", {"": 200}),
    _family("Sokoban-v0", "Sokoban", "Push boxes onto their goals. Teaches to look ahead.", {"": 30}, slow=True),
    _family("Sokoban-v0", "Sokoban", "Push boxes onto their goals.", {"-medium": 50}, refused=MAKING),
    _family("Sudoku-v0", "TextArena's Sudoku", "Fill a grid of 9 x 9; `sudoku` has a tool of its own for it.",
            dict.fromkeys(("", "-very-easy", "-easy", "-medium"), 100), slow=True),
    _family("Sudoku-v0", "TextArena's Sudoku", "Fill a grid of 9 x 9.", {"-hard": 100}, refused=MAKING),
    _family("ThreeCardMonte-v0", "Three cups", "Follow the ball while the cups are swapped.", {"": None}),
    _family("TowerOfHanoi-v0", "Tower of Hanoi", "Move a tower disk by disk, never a larger one onto a smaller.",
            {"": 14, "-medium": 30, "-hard": 62, "-hardcore": 126, "-extreme": 254}, seeded=False),
    _family("Hangman-v0", "Hangman", "Find a word letter by letter.", {"": None, "-hardcore": None}, fetches=WORDS),
    _family("WordLadder-v0", "Word ladder", "Turn one word into another, a letter at a time.",
            {"": 100, "-medium": 100, "-hard": 100}, fetches=WORDS),
    _family("WordSearch-v0", "Word search", "Find words in a grid of letters.", {"": None, "-hardcore": None},
            fetches=WORDS),
    _family("Wordle-v0", "TextArena's Wordle", "Find a secret word; `wordle` plays without a download.",
            {"": 6, "-hardcore": 6, "-long": 9, "-long-hardcore": 9}, fetches=TAGGED_WORDS),
    _family("GuessWho-v0", "Guess who", "Find a person by questions that are answered with yes or no.", {"": 20},
            refused=MODEL),
    _family("TwentyQuestions-v0", "Twenty questions", "Find a thing by questions that are answered with yes or no.",
            {"": 20, "-hardcore": 20}, refused=MODEL),
    _family("Klondike-v0", "Klondike", "Solitaire.", {"": 200}, refused="doesn't load in textarena 0.7.4, which has a "
            "syntax error there"),
    _family("UltimateTexasHoldem-v0", "Ultimate Texas hold'em", "Poker against the house.", {"": 1000},
            refused="loads on Python 3.12 and newer only, and was never tried there"),
    _family("BabyAiText-v0", "BabyAI", "Follow an instruction in a grid world.", {"": None},
            refused="needs gym and BabyAI, which don't go with the versions of Ortam"),
) for game in family}
