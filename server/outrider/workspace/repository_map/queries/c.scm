; Names that are defined, by what they are.
(function_definition declarator: (function_declarator declarator: (identifier) @function))
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @function)))
(struct_specifier name: (type_identifier) @struct body: (_))
(union_specifier name: (type_identifier) @struct body: (_))
(enum_specifier name: (type_identifier) @enum body: (_))
(type_definition declarator: (type_identifier) @type)
(preproc_def name: (identifier) @macro)
(preproc_function_def name: (identifier) @macro)

; Names that are used: calls and types. A member is one whose owner is not known.
(call_expression function: (identifier) @ref)
(call_expression function: (field_expression field: (field_identifier) @member))
(declaration type: (type_identifier) @ref)
(parameter_declaration type: (type_identifier) @ref)
(field_declaration type: (type_identifier) @ref)
(function_definition type: (type_identifier) @ref)
(struct_specifier name: (type_identifier) @ref !body)
