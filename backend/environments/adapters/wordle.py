"""Wordle: one tool, `guess`; rules and texts are in `backend.environments.games.wordle`."""

from backend.environments import Description
from backend.environments.adapters import Shipped, tool

DESCRIPTION = Description(
    title="Wordle",
    about="Find a secret five-letter word in six guesses. Teaches to use feedback over several turns.",
    tools=(tool("guess", "Guess the secret word; the answer marks each letter of the guess.",
                guess={"type": "string", "description": "The guessed word in square brackets, such as [crane]."}),),
    facts={
        "won": "whether the word was found",
        "guesses": "valid guesses made",
        "best_greens": "letters in the right place in the best guess, 0 to 5",
        "invalid_moves": "guesses that were not a word of the list, not five letters, or made before",
        "invalid": "whether two invalid moves in a row ended the game",
        "last_guess": "the last valid guess; None before the first",
        "last_feedback": "its marks, such as GXYXX; None before the first guess",
        "secret": "the word; None before the end",
    },
    prompt=("You play Wordle: find a secret five-letter English word in six guesses. After each guess every letter is "
            "marked: G is the right letter in the right place, Y is a letter that stands elsewhere in the word, X is a "
            "letter that isn't in the word. A guess that isn't a common five-letter word, or that you made before, is "
            "an invalid move; two in a row end the game. Use the tool `guess` with the word in square brackets, such "
            "as [crane], until you have found the word or have no guesses left."),
    max_turns=12,
    viewer="wordle",
    rewards=(
        ("win", "1.0 + 0.5 * (1 - guesses / 6) if won else 0.0"),
        ("partial", "0.0 if won else 0.1 * best_greens"),
        ("invalid", "-0.1 * invalid_moves"),
    ),
)

ADAPTER = Shipped(DESCRIPTION, lambda _, arguments: {"guess": arguments["guess"]})
