// Colours of code, painted over its text by the CSS Custom Highlight API: no spans, nothing that could be markup. What a word
// is, is guessed from the language's family; what is not known stays as it is.
import { html, useEffect, useRef } from "./vendor.js";
import { seen } from "./words.js";

/** More than this stays as it is. */
const MOST = 60_000;

const WORDS = new Set("abstract as async await begin break case catch class const continue create def default defer del delete do elif else elsif end enum esac except export extends extern false False fi final finally fn for from func function go goto if impl implements import in insert instanceof interface into is lambda let loop match mod module mut new nil none None not null of or and package pass private protected pub public raise ref return select self Self set static struct super switch table then this throw throws trait true True try type typeof union unless unsafe until update use using var void where while with yield".split(" "));

/** A remark, by language; of what is not named, as in C. */
const REMARKS = [
  [/^(sh|bash|zsh|shell|console|py|python|rb|ruby|toml|ya?ml|dockerfile|make|r)$/, "#.*"],
  [/^(sql|lua|haskell)$/, "--.*"],
  [/^(html|xml|svg)$/, "<!--[^]*?-->"],
  [/^/, "//.*|/\\*[^]*?(?:\\*/|$)"],
];

/** Stretches of a text and what they are: `[kind, start, end]`. */
function stretches(text, language = "") {
  const name = language.toLowerCase();
  if (text.length > MOST || /^(text|txt|plain|md|markdown|log)$/.test(name)) return [];
  const all = (expression, kind) => [...text.matchAll(expression)].map((found) => [kind(found), found.index, found.index + found[0].length]).filter(([known]) => known);
  if (/^(diff|patch)$/.test(name) || /^(@@ |\*\*\* Begin Patch|diff --git )/m.test(text)) return all(/^(?:[+-](?![+-]{2} ).*|@@.*|\*\*\* .*|diff .*)$/gm, ([line]) => ({ "+": "added", "-": "removed" })[line[0]] ?? "comment");
  if (/^jsonl?$/.test(name)) return all(/("(?:\\.|[^"\\\n])*")(\s*:)?|-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b/g, ([whole, string, colon]) => (string ? (colon ? "keyword" : "string") : /\d/.test(whole) ? "number" : "keyword"));
  if (!name) return [];
  const [, remark] = REMARKS.find(([names]) => names.test(name));
  // In Rust, a quotation mark alone begins a lifetime.
  const single = /^(rust|rs)$/.test(name) ? "'(?:\\\\.|[^'\\\\])'" : "'(?:\\\\.|[^'\\\\\\n])*'";
  const any = new RegExp(`(${remark})|("(?:\\\\.|[^"\\\\])*"|\`(?:\\\\.|[^\`\\\\])*\`|${single})|\\b(\\d[\\w.]*)|([A-Za-z_]\\w*)`, "g");
  return all(any, ([whole, isRemark, isString, isNumber]) => (isRemark ? "comment" : isString ? "string" : isNumber ? "number" : WORDS.has(name === "sql" ? whole.toLowerCase() : whole) && "keyword"));
}

/** A stretch of a text node, to be painted. */
export const stretch = (node, start, end) => new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end });

function paint(node, text, language) {
  const mine = stretches(text, language).map(([kind, start, end]) => {
    const range = stretch(node, start, end);
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
