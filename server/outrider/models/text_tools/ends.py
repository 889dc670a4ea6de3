"""Tokens with which models end a message, and that some servers leave in the text.

At the end of a message they are nobody's text, and no part of an argument. Before it they may well be: a model can
write of them.

Sources: tokenizer configurations of the model families.
"""

from outrider.models.text_tools.source import SPACE, Stops

CHATML = ("<|im_end|>", "<|endoftext|>")
LLAMA = ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", "<|eom|>")
MISTRAL = ("</s>", "[EOS]")
DEEPSEEK = ("<｜end▁of▁sentence｜>",)
GLM = ("<|endoftext|>", "<|user|>", "<|observation|>")
KIMI = ("<|im_end|>", "<|end_of_msg|>", "[EOS]", "[EOT]")
GRANITE = ("<|end_of_text|>", "<|endoftext|>")
HARMONY = ("<|endoftext|>",)
MINIMAX = ("[e~[", "<end_of_sentence>")
GEMMA = ("<end_of_turn>", "<turn|>", "<eos>", "<start_function_response>", "<|tool_response>")
ANY = tuple(
    dict.fromkeys((*CHATML, *LLAMA, *MISTRAL, *DEEPSEEK, *KIMI, *MINIMAX, *GEMMA, "<|end|>", "<|return|>"))
)
"""Of a format that belongs to no family."""


class Ends:
    """Leaves out such tokens at the end of a text that comes in pieces."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        """Leave out `tokens`."""
        self._stops = Stops(tokens) if tokens else None
        self._held: list[str] = []
        """Tokens, and the white space behind them, that nothing followed so far."""
        self._begun = ""
        """What may become a token."""

    def feed(self, text: str) -> str:
        """Take what came; gives what is known to be text."""
        if self._stops is None:
            return text
        text, given, at = self._begun + text, list[str](), 0
        while at < len(text):
            token = self._stops.pattern.match(text, at)
            space = SPACE.match(text, at) if self._held else None
            if token or (space and space.group()):
                end = token.end() if token else space.end() if space else at
                self._held.append(text[at:end])
                at = end
                continue
            open_end = self._stops.open_end(text, at)
            if open_end == at:
                break
            given += [*self._held]
            self._held.clear()
            token = self._stops.pattern.search(text, at)
            end = min(token.start() if token else len(text), open_end)
            given.append(text[at:end])
            at = end
        self._begun = text[at:]
        return "".join(given)

    def finish(self) -> str:
        """The text is at its end; gives what was no token."""
        held, begun = "".join(self._held), self._begun
        self._held, self._begun = [], ""
        return held + begun if begun else ""
