; Names that are defined, by what they are.
(class name: (constant) @class)
(class name: (scope_resolution name: (constant) @class))
(module name: (constant) @module)
(module name: (scope_resolution name: (constant) @module))
(method name: [(identifier) (constant) (setter) (operator)] @method)
(singleton_method name: [(identifier) (constant) (setter)] @method)
(assignment left: (constant) @constant)

; Names that are used: calls and constants. A member is one whose owner is not known.
(call !receiver method: [(identifier) (constant)] @ref)
(call receiver: (_) method: [(identifier) (constant)] @member)
(call receiver: (constant) @ref)
(superclass (constant) @ref)
(scope_resolution name: (constant) @ref)
(argument_list (constant) @ref)
