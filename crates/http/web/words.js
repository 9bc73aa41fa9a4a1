// Shows what somebody said as text nodes, never as markup. Simple Markdown is formatted; links are shown and never fetched,
// images are replaced by their words, and invisible characters are made visible.
import { html, useMemo, useState } from "./vendor.js";
import { Code } from "./code.js";

/** More than this is cut until it is asked for. */
const SHOWN = 16_000;
/** More than this is not read as Markdown. */
const MARKDOWN = 200_000;

// Characters that make a text look like another one: direction marks, zero-width characters, controls.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Text with marks in place of what cannot be seen. */
export function seen(text) {
  const out = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const code = found[0].codePointAt(0);
    // The joiner inside an emoji hides nothing.
    if (code === 0x200d && /\p{Extended_Pictographic}\ufe0f?$/u.test(text.slice(Math.max(0, found.index - 3), found.index))) continue;
    if (found.index > from) out.push(text.slice(from, found.index));
    const name = code === 0x1b ? "ESC" : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    out.push(html`<span class="unseen-mark" title="a character that cannot be seen">${name}</span>`);
    from = found.index + found[0].length;
  }
  if (!out.length) return text;
  out.push(text.slice(from));
  return out;
}

const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]*?\S)\*\*|(?<![\w*])\*(?=[^\s*])([^*\n]*?[^\s*])\*(?![\w*])|(?<![\w_])_(?=[^\s_])([^_\n]*?[^\s_])_(?![\w_])|!?\[([^\]\n]{0,400})\]\(([^)\s]{1,2000})\)|<?\b(https?:\/\/[^\s<>"')\]]{1,2000})>?/g;

function link(address, words) {
  const url = URL.parse(address);
  if (!["http:", "https:", "mailto:"].includes(url?.protocol)) return null;
  const shown = words === address || !words ? seen(address) : html`${inline(words)} <span class="quiet">(${seen(address)})</span>`;
  return html`<a href=${url.href} rel="noopener noreferrer nofollow" target="_blank">${shown}</a>`;
}

/** Code, emphasis and links of a line. */
export function inline(text, depth = 0) {
  if (depth > 3 || text.length > 20_000) return seen(text);
  const out = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, , code, strong, star, under, words, address, bare] = found;
    let node;
    if (code !== undefined) node = html`<code>${seen(code)}</code>`;
    else if (strong !== undefined) node = html`<strong>${inline(strong, depth + 1)}</strong>`;
    else if (star !== undefined || under !== undefined) node = html`<em>${inline(star ?? under, depth + 1)}</em>`;
    else if (bare !== undefined) node = link(bare, bare);
    else node = whole[0] === "!" ? html`<span class="quiet">[image: ${seen(words)}]</span>` : link(address, words);
    if (!node) continue;
    out.push(seen(text.slice(from, found.index)), node);
    from = found.index + whole.length;
  }
  if (!out.length) return seen(text);
  out.push(seen(text.slice(from)));
  return out;
}

/** A table; its cells are texts or nodes. */
export const table = (label, head, body) => html`<div class="scroll" tabindex="0" role="group" aria-label=${label}><table><thead><tr>${head.map((name) => html`<th>${name}</th>`)}</tr></thead><tbody>${body.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;

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
    while (n < lines.length && looks.test(lines[n])) n++;
    return lines.slice(from, n--);
  };
  const broken = (of) => of.map((line, k) => [k > 0 && html`<br />`, inline(line)]);
  /** The block that begins with a line; nothing where it is a line of words. */
  const block = (line) => {
    const fence = /^\s{0,3}(```+|~~~+)\s*([\w+#.-]*)/.exec(line);
    if (fence) {
      const from = ++n;
      while (n < lines.length && !lines[n].trimStart().startsWith(fence[1])) n++;
      return html`<${Code} text=${lines.slice(from, n).join("\n")} language=${fence[2]} />`;
    }
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (heading) return html`<p class="heading h${heading[1].length}">${inline(heading[2])}</p>`;
    if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return html`<hr />`;
    if (QUOTE.test(line)) return html`<blockquote>${broken(run(QUOTE).map((quoted) => quoted.replace(QUOTE, "")))}</blockquote>`;
    if (CELLS.test(line) && /^[\s:|]*-[\s:|-]*$/.test(lines[n + 1] ?? "")) {
      const [head, , ...body] = run(CELLS).map((row) => row.trim().slice(1, -1).split("|").map((cell) => inline(cell.trim())));
      return table("table", head, body);
    }
    if (!ITEM.test(line)) return null;
    const items = [];
    for (; n < lines.length; n++) {
      const [found, indent, mark, task, words] = ITEM.exec(lines[n]) ?? [];
      if (found) items.push({ level: Math.min(4, indent.length >> 1), mark: task ? (task === " " ? "☐" : "☑") : /\d/.test(mark) ? mark : "•", words });
      else if (/^\s{2,}\S/.test(lines[n])) items.at(-1).words += " " + lines[n].trim();
      else break;
    }
    n--;
    return html`<ul class="items">${items.map(({ level, mark, words }) => html`<li class=${"level" + level}><span class="mark" aria-hidden="true">${mark}</span><span>${inline(words)}</span></li>`)}</ul>`;
  };
  const out = [];
  let words = [];
  const flush = () => {
    if (words.length) out.push(html`<p>${broken(words)}</p>`);
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

const size = (n) => (n < 1e6 ? `${Math.round(n / 1000)} kB` : `${(n / 1e6).toFixed(1)} MB`);

/** A text of any length. `plain`: its lines as they are; `language`: they are code. */
export function Words({ text, plain = false, language }) {
  const [all, setAll] = useState(false);
  const cut = text.length > SHOWN && !all;
  // Never cut between the halves of a surrogate pair.
  const end = cut && /[\ud800-\udbff]/.test(text[SHOWN - 1]) ? SHOWN - 1 : SHOWN;
  const shown = cut ? text.slice(0, end) : text;
  // Cached: a place is drawn more often than its words change.
  const made = useMemo(() => {
    if (language) return html`<${Code} text=${shown} language=${language} />`;
    return plain || shown.length > MARKDOWN ? html`<pre class="plain">${seen(shown)}</pre>` : markdown(shown);
  }, [shown, plain, language]);
  return html`<div class="words" dir="auto">
    ${made}
    ${cut && html`<p><button class="small" onClick=${() => setAll(true)}>Show all (${size(text.length)})</button></p>`}
  </div>`;
}

/** The first line of something, for lists. */
export function firstLine(text, most = 160) {
  const line = text.slice(0, most * 4).replace(/\*\*|^#+ |\n#+ /g, " ").replace(/\s+/g, " ").trim();
  return seen(line.length > most ? line.slice(0, most - 1) + "…" : line);
}
