"""The dialog of the Runs page that makes a run of a file from elsewhere; importing.js sends it, routes.py takes it."""

FORMATS = {
    "openai": "Chat messages, one conversation a line (OpenAI style)",
    "verifiers": "Results of verifiers: results.jsonl or traces.jsonl",
    "trl": "TRL: logged completions (Parquet), or a conversational dataset",
    "jsonl": "Ortam's own export: JSONL",
    "parquet": "Ortam's own export: Parquet",
}
"""Reader -> what it says in the list."""

BUTTON = '<button class="o-button" type="button" data-import>Import</button>'


def dialog() -> str:
    options = "".join(f'<option value="{name}">{label}</option>' for name, label in FORMATS.items())
    return (
        '<dialog class="o-dialog o-import" aria-label="Import episodes"><form><div><h2 class="o-h2">Import episodes</h2>'
        '<p class="o-lede">Episodes of elsewhere become a run of their own, to replay and compare. Nothing in the file is '
        "run or fetched; lines that can't be read are skipped and named.</p></div>"
        '<div class="o-drop"><b>Choose a file, or drop it here</b><span class="o-muted o-small">JSON lines, JSON or Parquet'
        '</span><input type="file" aria-label="File" accept=".jsonl,.json,.parquet,.ndjson,.txt"></div>'
        f'<label data-for="file"><span class="o-label">What it holds</span><select>{options}</select></label>'
        '<label><span class="o-label">Or a run that somebody shared on the Hub</span><input name="at" type="text" '
        'placeholder="owner/name" autocomplete="off" spellcheck="false"></label>'
        '<progress hidden aria-label="Sending"></progress><div class="o-import-said" aria-live="polite"></div>'
        '<div class="o-row"><button class="o-button" type="button" data-close-import>Close</button>'
        '<button class="o-button o-primary" type="submit" disabled>Import</button></div></form></dialog>')
