// Memory: the memories, their sources, and the memories they superseded.
import {
  act, Acts, asking, at, chip, choice, doing, Edit, el, facts, fieldsOf, firstLine, go, Heading, href, limit, List,
  Load, near, part, ref, refs, row, rows, say, scopeName, sessionRef, tick, useData, useState, when, Words,
} from "../parts.js";

const CLASSES = [["", "all"], "preference", "identity", "fact", "procedure", "blocker", "reference"];
const FROM = {
  user: "said by you", prompt: "read in a prompt", program: "proposed by a program", hand: "written by hand",
  distilled: "distilled from a conversation",
};
/** Fields that stand elsewhere. */
const SHOWN = [
  "id", "class", "status", "title", "scope", "summary", "verified", "verification", "format", "flush", "pinned",
];

const isPinned = (m) => m.fields?.pinned === true;
const isOver = (m) => m.status === "superseded";
const chips = (m) => [isPinned(m) && chip("in front", "user"), chip(m.class), m.stale && chip("grew old", "late"),
  m.status !== "active" && chip(m.status)];
const line = (m) => row(href("memory", m.id ?? m.path), firstLine(m.title), [chips(m), " ", scopeName(m.scope),
  m.fields?.observed && [" · ", near(String(m.fields.observed))]], isOver(m));

export function Memories() {
  const { words = "", ...query } = at.value.query;
  const has = ({ title, path, fields }) => [title, path, fields?.summary, fields?.tags].join(" ").toLowerCase()
    .includes(words.trim().toLowerCase());
  return [
    el(Heading, "Memory"),
    el("div.limits",
      choice("Class", "class", CLASSES), tick("superseded", "superseded"), tick("only what grew old", "stale"),
      el("label", "With the words ", el("input", { type: "search", value: words, onInput: limit("words") }))),
    el(List, {
      path: asking("/v1/memory", { ...query, limit: 300 }),
      empty: "Nothing is remembered here yet. heirloom remember TEXT, or a yes in Review, changes that.",
    }, (items) => [rows(items.filter(has), line), !items.some(has) && el("p.empty", "None has these words.")]),
  ];
}

export function Memory() {
  const { id } = at.value;
  const path = `/v1/memory/${part(id)}`;
  const source = useData(asking("/v1/expand", { id })).body?.source;
  const [form, setForm] = useState("");
  const onDone = () => setForm("");
  const edit = ([title, text], rests) => act(`${path}/edit`, { title, text }, rests)
    .then(() => say("Changed; the old text is kept as a revision."));
  const instead = ([text]) => act(`${path}/supersede`, { text }).then(({ items }) => {
    say("That holds now; the old one stays as history.");
    if (items?.[0]?.id) go("memory", items[0].id);
  });
  const texts = (m) => [{ name: "Title", text: m.title, lines: 1 }, { name: "Text", text: m.text ?? m.body }];
  const newText = () => [{ name: "What holds now", text: "" }];
  return el(Load, { path, of: id }, (m) => {
    const { observed, confidence, supersedes, superseded_by: after, ...fields } = m.fields ?? {};
    const off = isPinned(m);
    const pin = () => doing(`${path}/pin`, { off }, off ? "No longer in front." : "Kept in front.");
    return [
      el(Heading, { up: [[href("memory"), "Memory"]] }, firstLine(m.title, 300)),
      el("p", chips(m)),
      form === "edit" ? el(Edit, { path, texts, save: edit, onDone }) : el(Words, { text: m.text ?? m.body }),
      form === "instead" && el(Edit, { path, texts: newText, save: instead, onDone }),
      !form && el(Acts, {
        of: [
          ["Edit", () => setForm("edit"), "e"],
          !isOver(m) && ["Something else holds now", () => setForm("instead"), "s"],
          ["It still holds", () => doing(`${path}/verify`, {}, "It still holds.")],
          [off ? "Let go" : "Keep in front", pin],
        ],
      }),
      el("h2", "Where it comes from"),
      facts({
        How: source && (FROM[source.type] ?? source.type),
        "Said in": refs(source?.turns),
        Session: sessionRef(source?.session),
        Summary: ref(source?.node),
        Seen: observed && when(String(observed)),
        Sure: confidence && `${Math.round(confidence * 100)} %`,
        "By hand": m.by_hand && "a person changed it last",
      }),
      el("h2", "How it stands"),
      facts({
        Holds: scopeName(m.scope),
        "Took the place of": refs(supersedes, 20),
        "Superseded by": refs(after),
        "Looked at": m.verification !== "none" && m.verification,
        "Good until": when(m.fresh_until),
        File: m.path,
        Wrong: m.problem,
        ...fieldsOf(fields, SHOWN),
      }),
    ];
  });
}
