// What works the page. It lives in a world of its own, which shares nothing
// with the page but the document. Everything it is told comes as an argument.
(() => {
  // Never part of what an answer says.
  const SILENT = new Set([
    "AUDIO", "BUTTON", "CANVAS", "IFRAME", "NOSCRIPT", "OBJECT", "SCRIPT", "SELECT", "STYLE",
    "SVG", "TEMPLATE", "TEXTAREA", "VIDEO",
  ]);
  // What is told of an element that Markdown knows.
  const TOLD = [
    "align", "alt", "checked", "class", "data-lang", "data-language", "encoding", "href", "src",
    "start", "style", "title", "type",
  ];

  const first = (selector) => (selector ? document.querySelector(selector) : null);
  const every = (selector) => [...document.querySelectorAll(selector)];
  const shown = (element) => Boolean(element) && element.checkVisibility();

  let version = 0;
  let waiting = [];
  new MutationObserver(() => {
    version += 1;
    for (const tell of waiting.splice(0)) tell();
  }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });

  // The last answer before a prompt was sent.
  let before = { element: null, text: "", count: 0 };

  const held = (input) => {
    if (!input) return "";
    return "value" in input ? input.value : input.innerText;
  };

  const words = (text) => text.split(/\s+/).filter(Boolean).join(" ");

  // An element and what is in it, one item behind the other: a text, the
  // beginning of an element, or null for its end.
  const write = (node, ignore, out) => {
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.data) out.push(node.data);
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    if (SILENT.has(node.nodeName.toUpperCase())) return;
    if (ignore.some((selector) => node.matches(selector))) return;
    const style = getComputedStyle(node);
    const isHidden = style.display === "none" || style.visibility === "hidden";
    // What a formula was typeset from is never shown.
    if (isHidden && node.localName !== "annotation") return;
    const isUnknown = node instanceof HTMLUnknownElement;
    const names = isUnknown ? node.getAttributeNames() : TOLD;
    const attributes = {};
    for (const name of names) {
      const value = node.getAttribute(name);
      if (value !== null) attributes[name] = value;
    }
    if (node.nodeName === "INPUT") attributes.checked = String(node.checked);
    out.push({
      tag: node.localName,
      attributes,
      unknown: isUnknown,
      pre: style.whiteSpaceCollapse
        ? style.whiteSpaceCollapse.startsWith("preserve")
        : style.whiteSpace.startsWith("pre"),
      block: !style.display.startsWith("inline") && style.display !== "contents",
    });
    const children = node.shadowRoot ? node.shadowRoot.childNodes : node.childNodes;
    for (const child of children) write(child, ignore, out);
    out.push(null);
  };

  return {
    // Answers as long as the document is the one that it was put into.
    here() {
      return true;
    },

    // Which of these are no selectors.
    unsound(selectors) {
      return selectors.filter(([, selector]) => {
        try {
          document.createDocumentFragment().querySelector(selector);
          return false;
        } catch {
          return true;
        }
      });
    },

    // Whether one can type, or has to log in first.
    ready({ input, login, login_urls }) {
      return {
        version,
        is_loaded: document.readyState !== "loading",
        is_login:
          login_urls.some((url) => location.href.startsWith(url)) ||
          login.some((selector) => every(selector).some(shown)),
        has_input: shown(first(input)),
      };
    },

    // Resolves once the document is another one than that of this version.
    changed(seen) {
      if (version !== seen) return null;
      return new Promise((tell) => waiting.push(() => tell(null)));
    },

    // Types, in the place of whatever stood there, and says what stands there
    // now. A text area takes a text at once; an editor takes it as pasted, and
    // may take a moment for it.
    async type(input, text) {
      const element = first(input);
      if (!element) return null;
      element.focus();
      const isArea = element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement;
      if (isArea && element.maxLength >= 0 && text.length > element.maxLength) {
        return text.slice(0, element.maxLength);
      }
      if (isArea) {
        element.value = text;
      } else {
        getSelection().selectAllChildren(element);
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", text);
        const paste = { clipboardData, bubbles: true, cancelable: true };
        const isTaken = text && !element.dispatchEvent(new ClipboardEvent("paste", paste));
        if (isTaken) {
          for (let i = 0; i < 20 && words(held(element)) !== words(text); i += 1) {
            await new Promise((go) => setTimeout(go, 50));
          }
          return held(element);
        }
        element.innerText = text;
      }
      const inputType = text ? "insertFromPaste" : "deleteContentBackward";
      element.dispatchEvent(new InputEvent("input", { bubbles: true, inputType, data: text }));
      return held(element);
    },

    // Remembers the answers that are there.
    remember(answer) {
      const answers = every(answer);
      const element = answers.at(-1) ?? null;
      before = { element, text: element?.textContent ?? "", count: answers.length };
      return null;
    },

    // Presses a button: "missing", "disabled" or "pressed".
    press(selector) {
      const button = every(selector).findLast(shown);
      if (!button) return "missing";
      if (button.disabled || button.getAttribute("aria-disabled") === "true") return "disabled";
      button.click();
      return "pressed";
    },

    focus(selector) {
      const element = first(selector);
      element?.focus();
      return Boolean(element);
    },

    // What the page shows now.
    look({ input, answer, busy, login, login_urls, ignore }) {
      const answers = every(answer);
      const last = answers.at(-1);
      const isFresh =
        Boolean(last) &&
        (answers.length > before.count ||
          (last !== before.element && last.textContent !== before.text));
      const items = [];
      if (isFresh) write(last, ignore, items);
      const field = first(input);
      return {
        version,
        is_login:
          login_urls.some((url) => location.href.startsWith(url)) ||
          login.some((selector) => every(selector).some(shown)),
        is_busy: busy ? every(busy).some(shown) : false,
        has_answers: answers.length > 0,
        held: held(field).trim().length,
        items: isFresh ? items : null,
      };
    },
  };
})()
