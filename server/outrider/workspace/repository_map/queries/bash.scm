; Names that are defined, by what they are.
(function_definition name: (word) @function)

; Names that are used: commands. A member is one whose owner is not known.
(command name: (command_name (word) @ref))
