"""Whether a model can be loaded, told without loading it."""

import difflib
import os
import re
from pathlib import Path

from backend.errors import ModelError

STARTERS = Path(__file__).resolve().parents[1] / "trainer" / "starters" / "weights"
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
TOKENIZER = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt", "spiece.model")
HUB_SECONDS = 5


def starters() -> list[str]:
    """Names of the tiny policies that ship here."""
    return sorted(path.parent.name for path in STARTERS.glob("*/config.json"))


def folder_of(model: str) -> str:
    """What `from_pretrained` takes for a spec's model: a starter's folder, a local folder or a hub id."""
    return str(STARTERS / model.removeprefix("starter:")) if model.startswith("starter:") else model


def check_model(model: str) -> None:
    """Raises ModelError naming what is missing and the remedy."""
    if model.startswith("starter:"):
        return _check_starter(model.removeprefix("starter:"))
    if is_folder(model):
        return _check_folder(Path(model).expanduser())
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", model):
        return _check_hub(model)
    hint = f"; for the policy that ships here write starter:{model}" if model in starters() else ""
    raise ModelError(f"model: {model!r:.100} is neither a folder here nor an id such as Qwen/Qwen3-1.7B{hint}")


def is_folder(model: str) -> bool:
    if model.startswith(("/", "./", "../", "~")):
        return True
    try:
        return Path(model).is_dir()
    except (OSError, ValueError):
        return False


def _check_starter(name: str) -> None:
    known = starters()
    if name in known:
        return
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean starter:{near[0]}?" if near else (
        f"use {' or '.join(f'starter:{one}' for one in known)}" if known else
        "make them with: python -m backend.trainer.starters")
    raise ModelError(f"model: there is no starter policy called {name!r:.60}; {hint}")


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ModelError(f"model: there is no folder {folder}; check the path")
    refuse_unloadable(folder)


def refuse_unloadable(folder: Path) -> None:
    """Raises ModelError where a folder lacks what a model is loaded from."""
    if not (folder / "config.json").is_file():
        raise ModelError(f"model: {folder} holds no config.json; give a folder written by save_pretrained")
    if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        raise ModelError(f"model: {folder} holds no weights (*.safetensors); give a folder written by save_pretrained")
    if not any((folder / name).is_file() for name in TOKENIZER):
        raise ModelError(f"model: {folder} holds no tokenizer; save it there too, with tokenizer.save_pretrained")


def _check_hub(model: str) -> None:
    try:
        from huggingface_hub import constants, model_info, try_to_load_from_cache
        from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError
    except ImportError:
        raise ModelError(f"model: {model} is on the Hub, and huggingface_hub isn't installed; run pip install "
                         "huggingface_hub") from None
    if isinstance(try_to_load_from_cache(model, "config.json"), str):
        return
    if constants.HF_HUB_OFFLINE:
        raise ModelError(f"model: {model} isn't in the local cache and HF_HUB_OFFLINE is set; unset it, or download "
                         f"the model first with: hf download {model}")
    try:
        model_info(model, timeout=HUB_SECONDS)
    except GatedRepoError:
        raise ModelError(f"model: {model} asks for its terms to be accepted; accept them on its page on the Hub and "
                         "set HF_TOKEN") from None
    except RepositoryNotFoundError:
        login = "" if os.environ.get("HF_TOKEN") else ", or set HF_TOKEN if it is private"
        raise ModelError(f"model: the Hub has no model {model}; check the name{login}") from None
    except HfHubHTTPError as error:
        raise ModelError(f"model: the Hub answered {error.response.status_code} for {model}; try again later, or give "
                         "a local folder") from None
    except Exception as error:  # whatever the network libraries raise: names, proxies, certificates, time-outs
        raise ModelError(f"model: {model} isn't in the local cache and the Hub can't be reached "
                         f"({type(error).__name__}); connect to the internet, or give a local folder or a starter such "
                         "as starter:catch") from None
