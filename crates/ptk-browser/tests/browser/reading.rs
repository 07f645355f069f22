//! Answers are read back as the Markdown that the page rendered.

use crate::Scene;
use crate::chat::rendered;

/// Markdown texts that come back unchanged from a rendered page.
const SOURCES: [&str; 20] = [
    "Plain text, with  two blanks, and a\nline break.",
    "# One\n\n### Three *with* emphasis",
    "*emphasis*, **strong**, ***both***, ~~gone~~ and **a *b* c**.",
    "`code`, ``a ` b``, `` `c ``, `  two  blanks  ` and `<b>&amp;</b>`.",
    "```python\ndef f(x):\n\tif x:\n        return  \"<b>\"  # \\n\n\n\n```",
    "```\nno language\n```",
    "````markdown\n```sh\nls\n```\n````",
    "```json\n{\"tool\": \"edit\", \"args\": {\"path\": \"a_b_c\", \"text\": \"\\\\*x\\\\* <i>\\n\"}}\n```",
    "- one\n- two\n  - two and a half\n    1. deep\n    2. deeper\n- three",
    "7. seven\n8. eight",
    "- a paragraph\n\n  another one\n\n- ```rust\n  fn main() {}\n\n  // end\n  ```",
    "- [x] done\n- [ ] to do",
    "> quoted\n>\n> > twice\n\nnot quoted",
    "| name | *count* | price |\n| --- | :-: | --: |\n| a \\| b | `x` | 1 |\n| c |  | 2 |",
    "A [link](https://example.org/a?b=c&d) and ![a picture](x.png).",
    "Before\n\n---\n\nafter",
    "a * b, snake_case_name, 2 < 3 && 4 > 3, [brackets], #no heading, 1) no list, $5",
    "C:\\temp\\new and \"__init__.py\" and src/__main__.py",
    "1\\. escaped stays as it is shown",
    "Ümläute, 漢字, 🦀 – “quotes”…",
];

#[tokio::test(flavor = "multi_thread")]
async fn markdown_is_read_back_as_it_was_written() {
    let mut scene = Scene::new().await;
    for source in SOURCES {
        let read = scene.read(|chat| chat.show(source)).await;
        // A backslash that Markdown takes away is gone from the page.
        let shown = source.replace("1\\.", "1.");
        assert_eq!(read, shown, "{}", rendered(source));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_marks_of_calls_stay_whatever_the_page_makes_of_them() {
    let mut scene = Scene::new().await;
    // Each with whether it also survives a renderer that parses tags as
    // CommonMark does: it drops closing tags without an opening one and the
    // backslash before a quote, and a paragraph in a value ends the page's own.
    let calls = [
        (r#"<tool_call>{"a": "<b>"}</tool_call>"#, true),
        (
            r#"<tool_call>{"old": "<b>y</b> & <br> <i>", "new": "<u>"}</tool_call>"#,
            true,
        ),
        (
            r#"<tool_call>{"old": "<p>x</p>", "new": "<b>y</b> & <br> <i>"}</tool_call>"#,
            false,
        ),
        ("<tool_call>\n{\"a\": 1}\n</tool_call>", true),
        (
            r#"<PTK_CALL>{"tool": "read_file", "args": {"path": "notes.txt"}}</PTK_CALL>"#,
            true,
        ),
        (
            "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a.txt</parameter>\n</invoke>\n</function_calls>",
            true,
        ),
        (
            "<tool_call><function=read_file><parameter=path>a.txt</parameter></function></tool_call>",
            false,
        ),
        (
            "<tool_call><function=edit><parameter=path>a.txt</parameter><parameter=old>5\" & more</parameter><parameter=new></parameter></function></tool_call>",
            false,
        ),
        (
            "<tool_call><function=wc><parameter=path>a.txt</parameter></function><function=wc><parameter=path>b.txt</parameter></function></tool_call>",
            false,
        ),
        (
            r#"<function_calls><invoke name="edit"><parameter name="old">5" disk</parameter><parameter name="new">x</parameter></invoke></function_calls>"#,
            false,
        ),
        (
            r#"<tool_call>{"html": "<a href=\"x\">y</a>"}</tool_call>"#,
            false,
        ),
        ("<think>Hm.</think>", true),
    ];
    for (call, is_rendered) in calls {
        // Escaped, as text.
        let escaped = call.replace('&', "&amp;").replace('<', "&lt;");
        let html = format!("<p>Let me see.</p><p>{escaped}</p>");
        let read = scene.read(|chat| chat.show_html(&html)).await;
        assert_eq!(read, format!("Let me see.\n\n{call}"));
        // Taken for elements.
        let html = format!("<div>Let me see: {call}</div>");
        let read = scene.read(|chat| chat.show_html(&html)).await;
        assert_eq!(read, format!("Let me see: {call}"));
        if is_rendered {
            let read = scene.read(|chat| chat.show(call)).await;
            assert_eq!(read, call, "{}", rendered(call));
        }
        // In code.
        let source = format!("```\n{call}\n```");
        let read = scene.read(|chat| chat.show(&source)).await;
        assert_eq!(read, source);
    }
}

/// A page that renders replies as HTML drops the closing tags of names with a
/// value. Where they were follows from the line breaks.
#[tokio::test(flavor = "multi_thread")]
async fn the_ends_of_marks_with_values_are_put_back_where_they_stood() {
    let mut scene = Scene::new().await;
    let calls = [
        "<tool_call>\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=edit>\n<parameter=path>\na.txt\n</parameter>\n<parameter=old>\nif x:\n    y\n\n</parameter>\n<parameter=new>\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n  <function=edit>\n    <parameter=path>a.txt</parameter>\n    <parameter=old>x</parameter>\n  </function>\n</tool_call>",
        "<tool_call>\n<function=wc>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=wc>\n<parameter=path>\nb\n</parameter>\n</function>\n</tool_call>",
    ];
    for call in calls {
        let html = format!("<div style=\"white-space: pre-wrap\">{call}</div>");
        let read = scene.read(|chat| chat.show_html(&html)).await;
        assert_eq!(read, call);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_adds_to_an_answer_is_not_read() {
    let ignore = [".bar", ".thoughts"].map(str::to_owned).to_vec();
    let mut scene = Scene::with("", |page, _| page.ignore = ignore).await;
    let html = r#"
        <div class="thoughts"><p>I think.</p></div>
        <my-node><div>
          <p>Run <span class="x">this</span>:</p>
          <div class="block">
            <div class="bar"><span>python</span></div>
            <pre><div>python<button>Copy</button></div><code class="hljs language-python"><span class="k">print</span>(<span>1</span>)
<span>  </span>x
</code></pre>
          </div>
          <script>evil()</script><style>p {}</style>
          <p hidden>Hidden.</p>
          <p>It costs <span><math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math></span>.<br>Done.</p>
        </div></my-node>
        <button>👍</button>"#;
    let read = scene.read(|chat| chat.show_html(html)).await;
    assert_eq!(
        read,
        "Run this:\n\n```python\nprint(1)\n  x\n```\n\nIt costs $x^2$.\nDone."
    );
}

/// The page renders no Markdown.
#[tokio::test(flavor = "multi_thread")]
async fn plain_text_keeps_its_lines() {
    let mut scene = Scene::new().await;
    let text = "One:\n\n  <PTK_CALL>{}</PTK_CALL>\n\n\n  Two  three";
    let escaped = text.replace('<', "&lt;");
    let html = format!("<div style=\"white-space: pre-wrap\">{escaped}</div>");
    assert_eq!(scene.read(|chat| chat.show_html(&html)).await, text);
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_nested_without_end_do_no_harm() {
    let mut scene = Scene::new().await;
    let html = format!(
        "{}deep{}",
        "<div><em>".repeat(3000),
        "</em></div>".repeat(3000)
    );
    let read = scene.read(|chat| chat.show_html(&html)).await;
    assert!(read.contains("deep"), "{read}");
}
