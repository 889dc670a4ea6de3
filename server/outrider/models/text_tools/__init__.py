r"""Tool calls as text, for models that cannot call tools natively, or whose server does not read them.

A format is how a family of models writes calls. `FORMATS` has them by id; `python -m
outrider.models.text_tools --list` prints the ids.

    form = FORMATS["hermes"]
    parser = form.parser(tools)
    parser.feed("Let me see. <tool_call>{\"name\": …")    # [TextDelta("Let me see.")]
    parser.finish()

What holds for every format:

- Text before a call goes out at once, the text of the call never. How a message is cut into pieces makes no
  difference, and reading takes time in proportion to its length.
- What began as a call and is none, because it is cut off or cannot be read, is text: nothing is run, nothing is
  lost. Reading goes on behind it, but a call that is cut off or has a torn string is never searched for others.
- A call needs its markup. Where a format has none (lists, plain JSON, ReAct, brackets), only known tools count.
  JSON needs a line of its own with nothing after it, except with Llama 3, which writes it anywhere.
- Code in backticks is no call. A code block shows something, unless the message is nothing but that: some models
  put their calls into one. In `bare-json`, `json-array` and ReAct, whose calls have no markup of their own, text may
  stand before such a block, but nothing behind it.
- `<think>` and its kind, where an answer begins or after a call, is reasoning. Calls in it do not count, unless it
  never ends and the message ends with calls in markup: then its end was forgotten. Everything before a first
  `</think>` without a beginning is reasoning too, because some templates put the beginning into the prompt:
  `ReadAnew` withdraws what was given as text. The tag does not count where the text only speaks of it: in code or
  a quotation, behind a `<think>` within the text, or within a line and before punctuation or more of that line.
- White space next to calls and reasoning is dropped, between two texts it stays. A message without either
  stays as it is.
- Arguments are an object. JSON is read with either quote, a comma too many and raw line breaks; Python's
  literals are read, never evaluated. In formats with a tag for each argument the tool's schema tells the value of
  its text, and a string stays as it was written.

`source` has the text as it arrives and the values in it, `message` the way through a message, `tools` the tools and
the shapes of calls; `json_calls`, `python_calls`, `tagged` and `labelled` read calls; `formats` is the table of formats.
`with_text_tools` makes a model that calls tools of one that only writes text.
"""

from outrider.models.text_tools.formats import FORMATS, Format, read_message
from outrider.models.text_tools.message import TextToolParser
from outrider.models.text_tools.tools import Call, Item, tool_of

__all__ = ["FORMATS", "Call", "Format", "Item", "TextToolParser", "read_message", "tool_of"]
