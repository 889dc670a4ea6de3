; Names that are defined, by what they are.
(function_declaration name: (identifier) @function)
(function_declaration name: (dot_index_expression field: (identifier) @function))
(function_declaration name: (method_index_expression method: (identifier) @method))
(assignment_statement (variable_list name: (identifier) @function) (expression_list value: (function_definition)))
(assignment_statement (variable_list name: (dot_index_expression field: (identifier) @function)) (expression_list value: (function_definition)))
(field name: (identifier) @function value: (function_definition))

; Names that are used: calls. A member is one whose owner is not known.
(function_call name: (identifier) @ref)
(function_call name: (dot_index_expression field: (identifier) @ref))
(function_call name: (method_index_expression method: (identifier) @member))
