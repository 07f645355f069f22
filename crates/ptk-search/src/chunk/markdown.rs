//! The outline of a Markdown file, by its headings.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::kind::Kind;
use super::lines::Source;
use super::outline::{Item, WITHIN};

/// A section for each heading, up to the next one.
pub(super) fn outline(source: &Source<'_>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut above: Vec<(HeadingLevel, String)> = Vec::new();
    let mut heading: Option<(HeadingLevel, usize, String)> = None;
    let parser = Parser::new_ext(source.text, Options::ENABLE_YAML_STYLE_METADATA_BLOCKS);
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some((level, source.line_of(range.start), String::new()));
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((.., title)) = &mut heading {
                    title.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let Some((level, first, title)) = heading.take() else {
                    continue;
                };
                if let Some(before) = items.last_mut() {
                    before.last = first.saturating_sub(1).max(before.first);
                }
                above.retain(|(higher, _)| *higher < level);
                let scope: Vec<&str> = above.iter().map(|(_, title)| title.as_str()).collect();
                items.push(Item {
                    first,
                    last: source.count().saturating_sub(1),
                    kind: Kind::Section,
                    symbol: Some(title.clone()),
                    scope: scope.join(WITHIN),
                });
                above.push((level, title));
            }
            _ => {}
        }
    }
    items
}
