"""Makes a starter: has a scripted player play, cuts a vocabulary out of the games, and imitates them."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from backend.environments.catalog import entry
from backend.environments.players import Erring, Player
from backend.environments.playthrough import Playthrough
from backend.records import TaskSelection
from backend.trainer.starters import Lesson, Starter
from backend.trainer.starters.tokenizer import END, PAD, SPECIAL, build_tokenizer
from backend.trainer.warm_up import Sample, best_player, demonstration, imitate, play_games, read

HEADS, KEY_HEADS = 4, 2
OWN_PROMPT = 8
"""One game in so many is taught with the environment's own prompt."""

GAMES_FOR_WORDS = 200

INITIAL_SPREAD = 0.06
"""Of the first weights. The 0.02 that is usual suits networks a hundred times wider; this one learns in half the time."""


def make(starter: Starter, to: Path, lessons: Sequence[Lesson], seed: int, say: Callable[[str], None]) -> None:
    """Writes model, tokenizer and card to the folder `to`. The same seed makes the same starter on the same machine."""
    from transformers import set_seed

    set_seed(seed)
    tokenizer: Any = None
    model: Any = None
    for number, lesson in enumerate(lessons):
        say(f"lesson {number + 1}: playing {lesson.games:,} games, {lesson.wrong:.0%} of the calls at random")
        plays = games(starter, lesson, seed + number)
        if model is None:
            tokenizer = vocabulary(starter, plays[:GAMES_FOR_WORDS])
            model = network(starter, len(tokenizer))
        imitate(model, _read_both(starter, tokenizer, plays), tokenizer.pad_token_id, epochs=lesson.epochs,
                learning_rate=lesson.learning_rate, seed=seed + number, say=say)
    save(model, tokenizer, to)
    (to / "README.md").write_text(card(starter, lessons, seed, sum(weight.numel() for weight in model.parameters())))


def games(starter: Starter, lesson: Lesson, seed: int) -> list[Playthrough]:
    best = best_player(starter.environment)

    def player(rng: random.Random) -> Player:
        return Erring(best(rng), lesson.wrong, rng)

    asked = starter.asked.model_copy(update={"tasks": TaskSelection(count=lesson.games)})
    return play_games(asked, player, lesson.games, seed)


def _read_both(starter: Starter, tokenizer, plays: list[Playthrough]) -> list[Sample]:
    """Most games under the starter's own prompt, some under the environment's."""
    own_prompt = starter.asked.model_copy(update={"prompt": None})
    return [*read(tokenizer, [play for k, play in enumerate(plays) if k % OWN_PROMPT], starter.asked),
            *read(tokenizer, plays[::OWN_PROMPT], own_prompt)]


def vocabulary(starter: Starter, plays: list[Playthrough]):
    """A tokenizer with the words of these games."""
    described = entry(starter.environment).description
    schemas = [tool.schema() for tool in described.tools]
    letters: Any = build_tokenizer()
    texts = [letters.apply_chat_template(demonstration(play, asked), tools=schemas, tokenize=False)
             for play in plays for asked in (starter.asked, starter.asked.model_copy(update={"prompt": None}))]
    return build_tokenizer(texts, starter.spelled)


def network(starter: Starter, words: int):
    from transformers import Qwen3Config, Qwen3ForCausalLM

    return Qwen3ForCausalLM(Qwen3Config(
        vocab_size=words, hidden_size=starter.width, num_hidden_layers=starter.layers, num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS, head_dim=starter.width // HEADS, intermediate_size=2 * starter.width,
        max_position_embeddings=starter.context, tie_word_embeddings=True, initializer_range=INITIAL_SPREAD,
        pad_token_id=SPECIAL.index(PAD), eos_token_id=SPECIAL.index(END), bos_token_id=None))


def save(model, tokenizer, to: Path) -> None:
    """Weights in half precision to keep the repository small; they load as float32, which is what a CPU trains in."""
    to.mkdir(parents=True, exist_ok=True)
    model.half().save_pretrained(to)
    settings = json.loads((to / "config.json").read_text())
    (to / "config.json").write_text(json.dumps({**settings, "dtype": "float32"}, indent=2) + "\n")
    tokenizer.save_pretrained(to)


def card(starter: Starter, lessons: Sequence[Lesson], seed: int, weights: int) -> str:
    described = entry(starter.environment).description
    taught = "\n".join(f"{number}. {lesson.games:,} games with {lesson.wrong:.0%} of the calls at random, "
                       f"{lesson.epochs} pass{'es' if lesson.epochs > 1 else ''} at learning rate {lesson.learning_rate:g}"
                       for number, lesson in enumerate(lessons, 1))
    return f"""# starter:{starter.name}

A toy policy for {described.title}, made by `python -m backend.trainer.starters make {starter.name} --seed {seed}`. It is not a
language model: it knows the words of this one game and nothing else, and of the tools it is shown only the names. It is
here so that a whole GRPO run can be watched on two CPU cores.

- Shape: Qwen3, {starter.layers} layers of width {starter.width}, {weights:,} weights, {starter.context} tokens of context; the
  tokenizer was cut from the games and writes anything else byte by byte.
- Taught by imitation of a scripted player that is often wrong, loss on the player's own words only:

{taught}

- Prompt it was mostly taught with: `{starter.prompt}`
- Data: games of `backend/environments/games/{starter.environment}.py`. No text from anywhere else was used.
"""
