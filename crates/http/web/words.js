// Shows what somebody said as text nodes, never as markup. Simple Markdown is formatted; links are shown and never
// fetched, images are replaced by their words, and invisible characters are made visible.
import { el } from "./el.js";
import { useMemo, useState } from "./vendor.js";
import { Code } from "./code.js";

/** More than this is cut until it is asked for. */
const SHOWN = 16_000;
/** More than this is not read as Markdown. */
const MARKDOWN = 200_000;

// Characters that make a text look like another one: direction marks, zero-width characters, controls. Some Arabic
// signs count as such and are seen.
const UNSEEN = /(?![\t\n\u0600-\u0605\u06dd\u070f\u0890-\u08e2])[\p{Cc}\p{Cf}]/gu;

/** Text with marks in place of what cannot be seen. */
export function seen(text) {
  const out = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const code = found[0].codePointAt(0);
    // The joiner inside an emoji hides nothing.
    const before = text.slice(Math.max(0, found.index - 3), found.index);
    if (code === 0x200d && /\p{Extended_Pictographic}\ufe0f?$/u.test(before)) continue;
    if (found.index > from) out.push(text.slice(from, found.index));
    const name = code === 0x1b ? "ESC" : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    out.push(el("span.unseen-mark", { title: "a character that cannot be seen" }, name));
    from = found.index + found[0].length;
  }
  return out.length ? [...out, text.slice(from)] : text;
}

/** What stands inside of a line. */
const INLINE = new RegExp([
  /(?<tick>`+)(?<code>[^`]|[^`][\s\S]*?[^`])\k<tick>(?!`)/,
  /\*\*(?=\S)(?<strong>[\s\S]*?\S)\*\*/,
  /(?<![\w*])\*(?=[^\s*])(?<star>[^*\n]*?[^\s*])\*(?![\w*])/,
  /(?<![\w_])_(?=[^\s_])(?<under>[^_\n]*?[^\s_])_(?![\w_])/,
  /!?\[(?<words>[^\]\n]{0,400})\]\((?<address>[^)\s]{1,2000})\)/,
  /<?\b(?<bare>https?:\/\/[^\s<>"')\]]{1,2000})>?/,
].map((one) => one.source).join("|"), "g");

function link(address, words) {
  const url = URL.parse(address);
  if (!["http:", "https:", "mailto:"].includes(url?.protocol)) return null;
  const shown = words ? [inline(words), " ", el("span.quiet", "(", seen(address), ")")] : seen(address);
  return el("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank" }, shown);
}

/** Code, emphasis and links of a line. */
export function inline(text, depth = 0) {
  if (depth > 3 || text.length > 20_000) return seen(text);
  const out = [];
  let from = 0;
  for (const { 0: whole, index, groups } of text.matchAll(INLINE)) {
    const { code, strong, emphasis = groups.star ?? groups.under, words, address, bare } = groups;
    let node;
    if (code !== undefined) node = el("code", seen(code));
    else if (strong !== undefined) node = el("strong", inline(strong, depth + 1));
    else if (emphasis !== undefined) node = el("em", inline(emphasis, depth + 1));
    else if (whole[0] === "!") node = el("span.quiet", "[image: ", seen(words), "]");
    else node = link(bare ?? address, words !== address && words);
    if (!node) continue;
    out.push(seen(text.slice(from, index)), node);
    from = index + whole.length;
  }
  return out.length ? [...out, seen(text.slice(from))] : seen(text);
}

/** A table; its cells are texts or nodes. */
export const table = (label, head, body) => el("div.scroll", { tabindex: "0", role: "group", "aria-label": label },
  el("table", el("thead", el("tr", head.map((name) => el("th", name)))),
    el("tbody", body.map((cells) => el("tr", cells.map((cell) => el("td", cell)))))));

const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/;
const QUOTE = /^\s{0,3}>\s?/;
const CELLS = /^\s*\|.*\|\s*$/;

/** Blocks of a Markdown text, as nodes. One pass over its lines. */
export function markdown(text) {
  const lines = text.split(/\r?\n/);
  let n = 0;
  /** Lines from this one on, as long as they look so. */
  const run = (looks) => {
    const from = n;
    while (n < lines.length && looks(lines[n])) n++;
    return lines.slice(from, n--);
  };
  const broken = (of) => of.map((line, k) => [k > 0 && el("br"), inline(line)]);
  /** The block that begins with a line; nothing where it is a line of words. */
  const block = (line) => {
    const fence = /^\s{0,3}(```+|~~~+)\s*([\w+#.-]*)/.exec(line);
    if (fence) {
      n++;
      const code = run((next) => !next.trimStart().startsWith(fence[1]));
      n++;
      return el(Code, { text: code.join("\n"), language: fence[2] });
    }
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (heading) return el(`p.heading.h${heading[1].length}`, inline(heading[2]));
    if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return el("hr");
    if (QUOTE.test(line)) {
      return el("blockquote", broken(run((next) => QUOTE.test(next)).map((quoted) => quoted.replace(QUOTE, ""))));
    }
    if (CELLS.test(line) && /^[\s:|]*-[\s:|-]*$/.test(lines[n + 1] ?? "")) {
      const cells = (row) => row.trim().slice(1, -1).split("|").map((cell) => inline(cell.trim()));
      const [head, , ...body] = run((next) => CELLS.test(next)).map(cells);
      return table("table", head, body);
    }
    if (!ITEM.test(line)) return null;
    const items = [];
    run((next) => {
      const [found, indent, mark, task, words] = ITEM.exec(next) ?? [];
      const sign = task ? (task === " " ? "☐" : "☑") : /\d/.test(mark) ? mark : "•";
      if (found) items.push({ level: Math.min(4, indent.length >> 1), sign, words });
      else if (/^\s{2,}\S/.test(next)) items.at(-1).words += " " + next.trim();
      else return false;
      return true;
    });
    return el("ul.items", items.map(({ level, sign, words }) =>
      el(`li.level${level}`, el("span.mark", { "aria-hidden": "true" }, sign), el("span", inline(words)))));
  };
  const out = [];
  let words = [];
  const flush = () => {
    if (words.length) out.push(el("p", broken(words)));
    words = [];
  };
  for (; n < lines.length; n++) {
    const line = lines[n];
    const isEmpty = !line.trim() || /^\s*<!--.*-->\s*$/.test(line);
    const made = isEmpty ? null : block(line);
    if (isEmpty || made) flush();
    if (made) out.push(made);
    else if (!isEmpty) words.push(line);
  }
  flush();
  return out;
}

const count = new Intl.NumberFormat();
export const number = (n) => (n == null ? "–" : count.format(n));

export function bytes(n) {
  const [unit, of] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, size]) => n >= size) ?? ["bytes", 1];
  return n == null ? "–" : `${number(Math.round((n / of) * 10) / 10)} ${unit}`;
}

/** A text of any length. `plain`: its lines as they are; `language`: they are code. */
export function Words({ text, plain = false, language }) {
  const [all, setAll] = useState(false);
  const cut = text.length > SHOWN && !all;
  // Never cut between the halves of a surrogate pair.
  const end = /[\ud800-\udbff]/.test(text[SHOWN - 1]) ? SHOWN - 1 : SHOWN;
  const shown = cut ? text.slice(0, end) : text;
  // Cached: a place is drawn more often than its words change.
  const made = useMemo(() => {
    if (language) return el(Code, { text: shown, language });
    return plain || shown.length > MARKDOWN ? el("pre.plain", seen(shown)) : markdown(shown);
  }, [shown, plain, language]);
  const onAll = () => setAll(true);
  return el("div.words", { dir: "auto" }, made,
    cut && el("p", el("button.small", { onClick: onAll }, `Show all (${bytes(text.length)})`)));
}

export function firstLine(text, most = 160) {
  const line = text.slice(0, most * 4).replace(/\*\*|^#+ |\n#+ /g, " ").replace(/\s+/g, " ").trim();
  return seen(line.length > most ? line.slice(0, most - 1) + "…" : line);
}
