"""Language servers in the agent's hands: Outrider is their client, or borrows those of the editor.

`table` and `finding` say which server there is for a folder, `connection` speaks with one, `server` starts it and shows it the
texts of the workspace, `judging` says what an edit does to its problems, `answers` and `problems` read what it says, and
`languages` is what everybody else uses.

Rules that hold everywhere in here:

- A server sees texts only through `ports.language.Sources`: open buffers over the disk. What it is shown is sent just before it is
  asked something, so that nothing is sent where nobody asks.
- A result counts only for the texts that the server had when it was asked. Otherwise there is no verdict.
- What a server says is foreign: it is read as far as it has the shape, and bounded. It can neither write nor reach the network.
- Nothing waits for a server without a time limit, and no edit fails because of one.
"""
