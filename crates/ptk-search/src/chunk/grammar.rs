//! Maps the syntax nodes of each language to their roles in chunking. Nodes
//! that no table names belong to the nodes around them.

use std::sync::OnceLock;

use super::kind::Kind;
use crate::Language;

/// The role of a node in chunking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A definition, kept whole.
    Whole(Kind),
    /// A definition, if it has several lines; short ones stay with the code
    /// around them.
    Value(Kind),
    /// A definition with others in it, which become chunks of their own.
    Members(Kind),
    /// Belongs to the only definition in it, such as `export` before a
    /// function.
    Wrapper,
    /// Only its children matter.
    Through,
    /// Belongs to the definition that follows it: comments, attributes.
    Leading,
}

use Role::{Leading, Members, Through, Value, Whole, Wrapper};

type Rows = &'static [(&'static str, Role)];

/// A grammar, and the roles of its nodes.
pub(super) struct Grammar {
    pub(super) language: tree_sitter::Language,
    /// The roles, by the id of the node kind.
    roles: Vec<Option<Role>>,
}

impl Grammar {
    fn new(language: tree_sitter::Language, rows: Rows) -> Self {
        let mut roles = vec![None; language.node_kind_count()];
        // Some names stand for several kinds, so each kind is looked up by its
        // name.
        for (id, role) in roles.iter_mut().enumerate() {
            let name = u16::try_from(id)
                .ok()
                .filter(|id| language.node_kind_is_named(*id))
                .and_then(|id| language.node_kind_for_id(id));
            *role = name.and_then(|name| Some(rows.iter().find(|(row, _)| *row == name)?.1));
        }
        Self { language, roles }
    }

    pub(super) fn role(&self, kind: u16) -> Option<Role> {
        self.roles.get(usize::from(kind)).copied().flatten()
    }
}

/// The grammar of a language, if it has one.
pub(super) fn of(language: Language) -> Option<&'static Grammar> {
    static GRAMMARS: [OnceLock<Grammar>; 13] = [const { OnceLock::new() }; 13];
    let (at, function, rows) = match language {
        Language::Rust => (0, tree_sitter_rust::LANGUAGE, RUST),
        Language::Python => (1, tree_sitter_python::LANGUAGE, PYTHON),
        Language::TypeScript => (2, tree_sitter_typescript::LANGUAGE_TYPESCRIPT, SCRIPT),
        Language::Tsx => (3, tree_sitter_typescript::LANGUAGE_TSX, SCRIPT),
        Language::JavaScript => (4, tree_sitter_javascript::LANGUAGE, SCRIPT),
        Language::Go => (5, tree_sitter_go::LANGUAGE, GO),
        Language::Java => (6, tree_sitter_java::LANGUAGE, JAVA),
        Language::C => (7, tree_sitter_c::LANGUAGE, C),
        Language::Cpp => (8, tree_sitter_cpp::LANGUAGE, CPP),
        Language::CSharp => (9, tree_sitter_c_sharp::LANGUAGE, C_SHARP),
        Language::Ruby => (10, tree_sitter_ruby::LANGUAGE, RUBY),
        Language::Php => (11, tree_sitter_php::LANGUAGE_PHP, PHP),
        Language::Bash => (12, tree_sitter_bash::LANGUAGE, BASH),
        Language::Markdown | Language::Text => return None,
    };
    let grammar = GRAMMARS.get(at)?;
    Some(grammar.get_or_init(|| Grammar::new(function.into(), rows)))
}

const RUST: Rows = &[
    ("function_item", Whole(Kind::Function)),
    ("function_signature_item", Value(Kind::Function)),
    ("struct_item", Whole(Kind::Struct)),
    ("enum_item", Whole(Kind::Enum)),
    ("union_item", Whole(Kind::Union)),
    ("macro_definition", Whole(Kind::Macro)),
    ("type_item", Value(Kind::Type)),
    ("const_item", Value(Kind::Constant)),
    ("static_item", Value(Kind::Constant)),
    ("trait_item", Members(Kind::Trait)),
    ("impl_item", Members(Kind::Impl)),
    ("mod_item", Members(Kind::Module)),
    ("foreign_mod_item", Members(Kind::Module)),
    ("declaration_list", Through),
    ("attribute_item", Leading),
    ("line_comment", Leading),
    ("block_comment", Leading),
];

const PYTHON: Rows = &[
    ("function_definition", Whole(Kind::Function)),
    ("class_definition", Members(Kind::Class)),
    ("type_alias_statement", Value(Kind::Type)),
    ("decorated_definition", Wrapper),
    ("block", Through),
    ("if_statement", Through),
    ("elif_clause", Through),
    ("else_clause", Through),
    ("try_statement", Through),
    ("except_clause", Through),
    ("comment", Leading),
];

/// The rows of TypeScript; JavaScript uses a part of them.
const SCRIPT: Rows = &[
    ("function_declaration", Whole(Kind::Function)),
    ("generator_function_declaration", Whole(Kind::Function)),
    ("function_signature", Value(Kind::Function)),
    ("class_declaration", Members(Kind::Class)),
    ("abstract_class_declaration", Members(Kind::Class)),
    ("interface_declaration", Whole(Kind::Interface)),
    ("enum_declaration", Whole(Kind::Enum)),
    ("type_alias_declaration", Value(Kind::Type)),
    ("internal_module", Members(Kind::Module)),
    ("module", Members(Kind::Module)),
    ("method_definition", Whole(Kind::Function)),
    ("field_definition", Value(Kind::Property)),
    ("public_field_definition", Value(Kind::Property)),
    ("lexical_declaration", Value(Kind::Constant)),
    ("variable_declaration", Value(Kind::Constant)),
    ("export_statement", Wrapper),
    ("ambient_declaration", Wrapper),
    ("expression_statement", Through),
    ("class_body", Through),
    ("statement_block", Through),
    ("decorator", Leading),
    ("comment", Leading),
];

const GO: Rows = &[
    ("function_declaration", Whole(Kind::Function)),
    ("method_declaration", Whole(Kind::Method)),
    ("type_declaration", Whole(Kind::Type)),
    ("const_declaration", Value(Kind::Constant)),
    ("var_declaration", Value(Kind::Constant)),
    ("comment", Leading),
];

const JAVA: Rows = &[
    ("class_declaration", Members(Kind::Class)),
    ("record_declaration", Members(Kind::Class)),
    ("interface_declaration", Members(Kind::Interface)),
    ("annotation_type_declaration", Members(Kind::Interface)),
    ("enum_declaration", Members(Kind::Enum)),
    ("method_declaration", Whole(Kind::Function)),
    ("constructor_declaration", Whole(Kind::Function)),
    ("compact_constructor_declaration", Whole(Kind::Function)),
    ("field_declaration", Value(Kind::Property)),
    ("class_body", Through),
    ("interface_body", Through),
    ("annotation_type_body", Through),
    ("enum_body", Through),
    ("enum_body_declarations", Through),
    ("line_comment", Leading),
    ("block_comment", Leading),
];

const C: Rows = &[
    ("function_definition", Whole(Kind::Function)),
    ("struct_specifier", Value(Kind::Struct)),
    ("union_specifier", Value(Kind::Union)),
    ("enum_specifier", Value(Kind::Enum)),
    ("type_definition", Value(Kind::Type)),
    ("declaration", Value(Kind::Constant)),
    ("preproc_function_def", Value(Kind::Macro)),
    ("linkage_specification", Through),
    ("declaration_list", Through),
    ("preproc_if", Through),
    ("preproc_ifdef", Through),
    ("preproc_else", Through),
    ("preproc_elif", Through),
    ("comment", Leading),
];

const CPP: Rows = &[
    ("function_definition", Whole(Kind::Function)),
    ("class_specifier", Members(Kind::Class)),
    ("struct_specifier", Members(Kind::Struct)),
    ("union_specifier", Value(Kind::Union)),
    ("enum_specifier", Value(Kind::Enum)),
    ("namespace_definition", Members(Kind::Module)),
    ("concept_definition", Value(Kind::Type)),
    ("alias_declaration", Value(Kind::Type)),
    ("type_definition", Value(Kind::Type)),
    ("declaration", Value(Kind::Constant)),
    ("preproc_function_def", Value(Kind::Macro)),
    ("template_declaration", Wrapper),
    ("linkage_specification", Through),
    ("declaration_list", Through),
    ("field_declaration_list", Through),
    ("preproc_if", Through),
    ("preproc_ifdef", Through),
    ("preproc_else", Through),
    ("preproc_elif", Through),
    ("comment", Leading),
];

const C_SHARP: Rows = &[
    ("namespace_declaration", Members(Kind::Module)),
    ("class_declaration", Members(Kind::Class)),
    ("record_declaration", Members(Kind::Class)),
    ("struct_declaration", Members(Kind::Struct)),
    ("interface_declaration", Members(Kind::Interface)),
    ("enum_declaration", Whole(Kind::Enum)),
    ("delegate_declaration", Value(Kind::Type)),
    ("method_declaration", Whole(Kind::Function)),
    ("constructor_declaration", Whole(Kind::Function)),
    ("destructor_declaration", Whole(Kind::Function)),
    ("operator_declaration", Whole(Kind::Function)),
    ("local_function_statement", Whole(Kind::Function)),
    ("property_declaration", Value(Kind::Property)),
    ("field_declaration", Value(Kind::Property)),
    ("declaration_list", Through),
    ("global_statement", Through),
    ("preproc_if", Through),
    ("preproc_else", Through),
    ("comment", Leading),
];

const RUBY: Rows = &[
    ("class", Members(Kind::Class)),
    ("singleton_class", Members(Kind::Class)),
    ("module", Members(Kind::Module)),
    ("method", Whole(Kind::Function)),
    ("singleton_method", Whole(Kind::Function)),
    ("body_statement", Through),
    ("comment", Leading),
];

const PHP: Rows = &[
    ("namespace_definition", Members(Kind::Module)),
    ("class_declaration", Members(Kind::Class)),
    ("interface_declaration", Members(Kind::Interface)),
    ("trait_declaration", Members(Kind::Trait)),
    ("enum_declaration", Members(Kind::Enum)),
    ("function_definition", Whole(Kind::Function)),
    ("method_declaration", Whole(Kind::Function)),
    ("property_declaration", Value(Kind::Property)),
    ("const_declaration", Value(Kind::Constant)),
    ("compound_statement", Through),
    ("declaration_list", Through),
    ("enum_declaration_list", Through),
    ("comment", Leading),
];

const BASH: Rows = &[
    ("function_definition", Whole(Kind::Function)),
    ("comment", Leading),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_node_that_the_grammar_has() {
        for language in Language::all() {
            let Some(grammar) = of(language) else {
                continue;
            };
            let known: std::collections::BTreeSet<&str> = (0..grammar.language.node_kind_count())
                .filter_map(|id| {
                    grammar
                        .language
                        .node_kind_for_id(u16::try_from(id).unwrap())
                })
                .collect();
            let rows = match language {
                Language::Rust => RUST,
                Language::Python => PYTHON,
                // JavaScript uses a part of these rows.
                Language::TypeScript => SCRIPT,
                Language::Go => GO,
                Language::Java => JAVA,
                Language::C => C,
                Language::Cpp => CPP,
                Language::CSharp => C_SHARP,
                Language::Ruby => RUBY,
                Language::Php => PHP,
                Language::Bash => BASH,
                _ => continue,
            };
            for (row, _) in rows {
                let is_javascript_only = *row == "field_definition";
                assert!(
                    known.contains(row) || is_javascript_only,
                    "{language}: {row}"
                );
            }
        }
    }
}
