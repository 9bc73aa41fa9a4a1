// Colours of code, painted over its text by the CSS Custom Highlight API: no spans, nothing that could be markup. What a word
// is, is guessed from the language's family; what is not known stays as it is.
import { html, useEffect, useRef } from "./vendor.js";
import { seen } from "./words.js";

/** More than this stays as it is. */
const MOST = 60_000;

const WORDS = "abstract as async await begin break case catch class const continue create def default defer del delete do elif else elsif end enum esac except export extends extern false False fi final finally fn for from func function go goto if impl implements import in insert instanceof interface into is lambda let loop match mod module mut new nil none None not null of or and package pass private protected pub public raise ref return select self Self set static struct super switch table then this throw throws trait true True try type typeof union unless unsafe until update use using var void where while with yield";
const STRING = '"(?:\\\\.|[^"\\\\])*"|`(?:\\\\.|[^`\\\\])*`|';
// In Rust, a mark alone begins a lifetime.
const QUOTED = (name) => STRING + (name === "rust" || name === "rs" ? "'(?:\\\\.|[^'\\\\])'" : "'(?:\\\\.|[^'\\\\\\n])*'");
const COMMENTS = {
  hash: /#.*/,
  dash: /--.*/,
  angle: /<!--[\s\S]*?-->/,
  slash: /\/\/.*|\/\*[\s\S]*?(?:\*\/|$)/,
};
const FAMILY = { sh: "hash", bash: "hash", zsh: "hash", shell: "hash", console: "hash", py: "hash", python: "hash", rb: "hash", ruby: "hash", toml: "hash", yaml: "hash", yml: "hash", dockerfile: "hash", make: "hash", r: "hash", sql: "dash", lua: "dash", haskell: "dash", html: "angle", xml: "angle", svg: "angle" };
const NONE = new Set(["text", "txt", "plain", "md", "markdown", "log"]);

/** Stretches of a text and what they are: `[kind, start, end]`. */
export function stretches(text, language = "") {
  const name = language.toLowerCase();
  if (text.length > MOST || NONE.has(name)) return [];
  const all = (expression, kind) => [...text.matchAll(expression)].map((found) => [kind(found), found.index, found.index + found[0].length]);
  if (name === "diff" || name === "patch" || /^(@@ |\*\*\* Begin Patch|diff --git )/m.test(text)) return all(/^(?:[+-](?![+-]{2} ).*|@@.*|\*\*\* .*|diff .*)$/gm, ([line]) => ({ "+": "added", "-": "removed" })[line[0]] ?? "comment");
  if (name === "json" || name === "jsonl") return all(/("(?:\\.|[^"\\\n])*")(\s*:)?|-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b/g, ([whole, string, colon]) => (string ? (colon ? "keyword" : "string") : /\d/.test(whole) ? "number" : "keyword"));
  if (!name) return [];
  const comment = COMMENTS[FAMILY[name] ?? "slash"];
  const known = new Set((name === "sql" ? WORDS + " add alter as by column drop from group index join key limit on order primary values" : WORDS).split(" "));
  const any = new RegExp(`(${comment.source})|(${QUOTED(name)})|\\b(\\d[\\w.]*)|([A-Za-z_]\\w*)`, "g");
  return all(any, ([whole, remark, string, digits]) => (remark ? "comment" : string ? "string" : digits ? "number" : known.has(name === "sql" ? whole.toLowerCase() : whole) ? "keyword" : "")).filter(([kind]) => kind);
}

function paint(node, text, language) {
  const mine = stretches(text, language).map(([kind, start, end]) => {
    const range = new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end });
    const name = `code-${kind}`;
    if (!CSS.highlights.has(name)) CSS.highlights.set(name, new Highlight());
    const painted = CSS.highlights.get(name);
    painted.add(range);
    return () => painted.delete(range);
  });
  return () => mine.forEach((take) => take());
}

/** Code, as it is. */
export function Code({ text, language }) {
  const box = useRef();
  useEffect(() => {
    const node = box.current.firstChild;
    // Where a character that cannot be seen is shown by name, the text is in pieces: it stays without colours.
    if (globalThis.CSS?.highlights && node?.nodeType === Node.TEXT_NODE && node.data === text) return paint(node, text, language);
    return undefined;
  }, [text, language]);
  return html`<pre class="code" tabindex="0" role="group" aria-label=${language || "code"} ref=${box}>${seen(text)}</pre>`;
}
