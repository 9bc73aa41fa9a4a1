// Words as words. What somebody said is text: it becomes nodes, never markup. Markdown is read as far as it helps reading;
// links are shown and never fetched, images are their words, and characters nobody can see are shown.
import { html, useMemo, useState } from "./vendor.js";
import { Code } from "./code.js";

/** More than this is cut until it is asked for. */
const SHOWN = 16_000;
/** More than this is not read as Markdown. */
const MARKDOWN = 200_000;

// Direction marks, zero-width characters, controls: what makes a text look like another one.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Text with marks in place of what cannot be seen. */
export function seen(text) {
  const out = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const code = found[0].codePointAt(0);
    // Joined emoji are no disguise.
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
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return null;
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

const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

/** Blocks of a Markdown text, as nodes. One pass over its lines. */
export function markdown(text) {
  const lines = text.split(/\r?\n/);
  const out = [];
  let words = [];
  const flush = () => {
    if (words.length) out.push(html`<p>${words.flatMap((line, n) => (n ? [html`<br />`, inline(line)] : [inline(line)]))}</p>`);
    words = [];
  };
  for (let n = 0; n < lines.length; n++) {
    const line = lines[n];
    const fence = /^\s{0,3}(```+|~~~+)\s*([\w+#.-]*)/.exec(line);
    if (fence) {
      flush();
      const inside = [];
      for (n++; n < lines.length && !lines[n].trimStart().startsWith(fence[1]); n++) inside.push(lines[n]);
      out.push(html`<${Code} text=${inside.join("\n")} language=${fence[2]} />`);
      continue;
    }
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (heading) {
      flush();
      out.push(html`<p class="heading h${heading[1].length}">${inline(heading[2])}</p>`);
      continue;
    }
    if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      flush();
      out.push(html`<hr />`);
      continue;
    }
    if (/^\s{0,3}>/.test(line)) {
      flush();
      const quoted = [];
      for (; n < lines.length && /^\s{0,3}>/.test(lines[n]); n++) quoted.push(lines[n].replace(/^\s{0,3}>\s?/, ""));
      n--;
      out.push(html`<blockquote>${quoted.map((l, k) => (k ? [html`<br />`, inline(l)] : inline(l)))}</blockquote>`);
      continue;
    }
    if (/^\s*\|.*\|\s*$/.test(line) && /^\s*\|?[\s:|-]+\|?\s*$/.test(lines[n + 1] || "") && lines[n + 1].includes("-")) {
      flush();
      const rows = [];
      for (; n < lines.length && /^\s*\|.*\|\s*$/.test(lines[n]); n++) rows.push(lines[n].trim().slice(1, -1).split("|").map((cell) => cell.trim()));
      n--;
      const [head, , ...body] = rows;
      out.push(html`<div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr>${head.map((c) => html`<th>${inline(c)}</th>`)}</tr></thead><tbody>${body.map((row) => html`<tr>${row.map((c) => html`<td>${inline(c)}</td>`)}</tr>`)}</tbody></table></div>`);
      continue;
    }
    if (ITEM.test(line)) {
      flush();
      const items = [];
      for (; n < lines.length; n++) {
        const item = ITEM.exec(lines[n]);
        if (item) items.push({ level: Math.min(4, Math.floor(item[1].length / 2)), mark: /\d/.test(item[2]) ? item[2] : "•", text: item[3] });
        else if (/^\s{2,}\S/.test(lines[n]) && items.length) items[items.length - 1].text += " " + lines[n].trim();
        else break;
      }
      n--;
      out.push(html`<ul class="items">${items.map((item) => {
        const task = /^\[([ xX])\]\s+(.*)$/.exec(item.text);
        return html`<li class=${"level" + item.level}><span class="mark" aria-hidden="true">${task ? (task[1] === " " ? "☐" : "☑") : item.mark}</span><span>${inline(task ? task[2] : item.text)}</span></li>`;
      })}</ul>`);
      continue;
    }
    if (/^\s*<!--.*-->\s*$/.test(line) || !line.trim()) {
      flush();
      continue;
    }
    words.push(line);
  }
  flush();
  return out;
}

const size = (n) => (n < 1e6 ? `${Math.round(n / 1000)} kB` : `${(n / 1e6).toFixed(1)} MB`);

/** A text of any length. `plain`: its lines as they are; `language`: they are code. */
export function Words({ text, plain = false, language }) {
  const [all, setAll] = useState(false);
  const cut = text.length > SHOWN && !all;
  // Not between the halves of a character.
  const end = cut && /[\ud800-\udbff]/.test(text[SHOWN - 1]) ? SHOWN - 1 : SHOWN;
  const shown = cut ? text.slice(0, end) : text;
  // Made once: a place is drawn more often than its words change.
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
