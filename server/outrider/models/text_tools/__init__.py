r"""Tool calls as text, for models that cannot call tools natively, or whose server does not read them.

A format is how a family of models writes calls. `FORMATS` has them by id; `python -m
outrider.models.text_tools --list` prints the ids.

    form = FORMATS["hermes"]
    parser = form.parser(tools)
    parser.feed("Let me see. <tool_call>{\"name\": …")    # [TextDelta("Let me see.")]
    parser.finish()

What holds for every format:

- Text before a call goes out at once, the call's text never. Where the text was cut makes no difference, and
  reading takes time in proportion to its length.
- What began as a call and is none, because it is cut off or cannot be read, is text: nothing is run, nothing
  lost. Reading goes on behind it, but what a call that is cut off or has a torn string may hold is never searched
  for others.
- A call needs its markup. Where a format has none (lists, plain JSON, ReAct, brackets), only tools that there
  are count. JSON needs a line of its own with nothing after it, except with Llama 3, which writes it anywhere.
- Code in backticks is no call. A code block shows something, unless the message is nothing but that: some models
  put their calls into one. In `bare-json`, `json-array` and ReAct, whose calls have no markup of their own, text may
  stand before such a block, but nothing behind it.
- `<think>` and its kind, where an answer begins or after a call, is reasoning; calls in it are none, unless it never
  ends and the message ends with them, in markup of their own: then the end was forgotten. So is all
  before the first `</think>` without a beginning, which some templates put into the prompt: `ReadAnew` withdraws
  what of it was given as text. It counts unless it is spoken of: in code or a quote, behind a `<think>` within
  the text, or within a line and before punctuation or more of that line.
- White space next to calls and reasoning is dropped, between two texts it stays. A message without either
  stays as it is.
- Arguments are an object. JSON is read with either quote, a comma too many and raw line breaks; Python's
  literals are read, never evaluated. In formats with tags for each argument its schema tells what the text is
  worth, and a string stays as it was written.

`with_text_tools` makes a model that calls tools of one that only writes text.
"""

from outrider.models.text_tools.formats import FORMATS, Format, TextToolParser, read_message
from outrider.models.text_tools.reading import Call, Item
from outrider.models.text_tools.tools import tool_of

__all__ = ["FORMATS", "Call", "Format", "Item", "TextToolParser", "read_message", "tool_of"]
