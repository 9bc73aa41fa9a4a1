// Colours of code, painted over its text by the CSS Custom Highlight API: no spans, nothing that could be markup. What
// a word is, is guessed by its language's family.
import { el } from "./el.js";
import { useEffect, useRef } from "./vendor.js";
import { seen } from "./words.js";

/** More than this stays as it is. */
const MOST = 60_000;

const WORDS = new Set(`abstract as async await begin break case catch class const continue create def default defer del
  delete do elif else elsif end enum esac except export extends extern false False fi final finally fn for from func
  function go goto if impl implements import in insert instanceof interface into is lambda let loop match mod module mut
  new nil none None not null of or and package pass private protected pub public raise ref return select self Self set
  static struct super switch table then this throw throws trait true True try type typeof union unless unsafe until
  update use using var void where while with yield`.split(/\s+/));

/** A remark, by language; of what is not named, as in C. */
const REMARKS = [
  [/^(sh|bash|zsh|shell|console|py|python|rb|ruby|toml|ya?ml|dockerfile|make|r)$/, "#.*"],
  [/^(sql|lua|haskell)$/, "--.*"],
  [/^(html|xml|svg)$/, "<!--[^]*?-->"],
  [/^/, "//.*|/\\*[^]*?(?:\\*/|$)"],
];

/** What the parts of a difference and of JSON look like, each named by its kind. */
const DIFF = /^(?:(?<added>\+(?!\+\+ ).*)|(?<removed>-(?!-- ).*)|(?<comment>(?:@@|\*\*\* |diff ).*))$/gm;
const STRING = /"(?:\\.|[^"\\\n])*"/.source;
const NAME = `(?<keyword>${STRING}\\s*:|\\b(?:true|false|null)\\b)`;
const DATA = RegExp(`${NAME}|(?<string>${STRING})|(?<number>-?\\b\\d[\\d.eE+-]*)`, "g");

/** What the parts of a text look like. A `word` may be a keyword of its language. */
function looks(text, name) {
  if (/^(diff|patch)$/.test(name) || /^(@@ |\*\*\* Begin Patch|diff --git )/m.test(text)) return DIFF;
  if (/^jsonl?$/.test(name)) return DATA;
  if (!name) return /(?!)/g;
  const [, remark] = REMARKS.find(([names]) => names.test(name));
  const quoted = (mark, but = "") => `${mark}(?:\\\\.|[^${mark}\\\\${but}])*${mark}`;
  // In Rust, a quotation mark alone begins a lifetime.
  const single = /^(rust|rs)$/.test(name) ? "'(?:\\\\.|[^'\\\\])'" : quoted("'", "\\n");
  const strings = `${quoted('"')}|${quoted("`")}|${single}`;
  return RegExp(`(?<comment>${remark})|(?<string>${strings})|\\b(?<number>\\d[\\w.]*)|(?<word>[A-Za-z_]\\w*)`, "g");
}

/** Stretches of a text and what they are: `[kind, start, end]`. */
function stretches(text, language = "") {
  const name = language.toLowerCase();
  if (text.length > MOST || /^(text|txt|plain|md|markdown|log)$/.test(name)) return [];
  return [...text.matchAll(looks(text, name))].map(({ 0: whole, index, groups }) => {
    const kind = Object.keys(groups).find((one) => groups[one] !== undefined);
    const isKeyword = kind === "word" && WORDS.has(name === "sql" ? whole.toLowerCase() : whole);
    return [isKeyword ? "keyword" : kind, index, index + whole.length];
  }).filter(([kind]) => kind !== "word");
}

export const stretch = (node, startOffset, endOffset) =>
  new StaticRange({ startContainer: node, startOffset, endContainer: node, endOffset });

function paint(node, text, language) {
  const mine = stretches(text, language).map(([kind, start, end]) => {
    const range = stretch(node, start, end);
    const name = `code-${kind}`;
    if (!CSS.highlights.has(name)) CSS.highlights.set(name, new Highlight());
    CSS.highlights.get(name).add(range);
    return () => CSS.highlights.get(name).delete(range);
  });
  return () => mine.forEach((take) => take());
}

export function Code({ text, language }) {
  const box = useRef();
  useEffect(() => {
    const node = box.current.firstChild;
    // Where a character that cannot be seen is shown by name, the text is in pieces: it stays without colours.
    const isWhole = globalThis.CSS?.highlights && node?.nodeType === Node.TEXT_NODE && node.data === text;
    return isWhole ? paint(node, text, language) : undefined;
  }, [text, language]);
  return el("pre.code", { tabindex: "0", role: "group", "aria-label": language || "code", ref: box }, seen(text));
}
