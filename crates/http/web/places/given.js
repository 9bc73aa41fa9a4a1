// Given: each context a program was given, word for word; what each line cost and why it was chosen; the omitted ones.
import {
  asking, at, chip, command, el, facts, Heading, href, joined, link, List, Load, many, near, note, number, part,
  program, quiet, refs, row, section, seen, sessionRef, when,
} from "../parts.js";

const EVENTS = {
  start: "At the beginning", prompt: "With a prompt", compact: "After a compaction", compaction: "After a compaction",
};

function title({ event, can, session }) {
  const isNamed = can?.program && can.program !== "cli";
  return `${EVENTS[event] ?? event}, to ${program(isNamed ? can.program : session.split(":")[0])}`;
}

const line = (g) => row(href("given", g.id), title(g),
  [many(g.tokens, "token"), " ", g.sound === false && chip("damaged", "late"), " · ", near(g.at)]);

export function Given() {
  const { session } = at.value.query;
  return [
    el(Heading, "Given"),
    session && el("p.notice", "To ", sessionRef(session), " only. ", link(href("given"), "All")),
    el(List, {
      path: asking("/v1/injections", { limit: 200, session }),
      line,
      empty: "No program was given anything yet. heirloom connect lets them ask.",
    }),
  ];
}

const why = ({ part: of, id, stage, score, why: reasons }) => note(chip(of), refs([id ?? []].flat()), " ",
  seen(joined([stage, score != null && `score ${Number(score).toFixed(2)}`, reasons].flat(), "; ")));

const SOUND = { true: "yes, by its digest", false: "no: it was changed" };

export function Context() {
  const { id } = at.value;
  return el(Load, { path: `/v1/injections/${part(id)}`, of: id }, one);
}

function one({ content, ...g }) {
  const { request, lines = [], dropped = [], dropped_more: more, degraded = [], block = "" } = content ?? {};
  const budget = request?.budget;
  const isUnsure = content ? "not known: it is from before there were digests" : "forgotten";
  const reasons = Object.entries(Object.groupBy(dropped, (left) => left.why));
  const given = (text, n) => el("li", el("span.cost", { title: "tokens, about" }, g.line_tokens?.[n]),
    el("div", el("pre.plain", seen(text) || " "), lines.filter((chosen) => chosen.line === n + 1).map(why)));
  const left = ([reason, of]) => el("details.left", { open: reasons.length < 8 },
    el("summary", seen(reason), " ", quiet(number(of.length))), refs(of.map((dropped) => dropped.id), 60));
  return [
    el(Heading, { up: [[href("given"), "Given"]] }, title(g)),
    facts({
      When: when(g.at),
      Session: sessionRef(g.session),
      Tokens: number(g.tokens) + (budget ? ` of ${number(budget)}, ${number(budget - g.tokens)} left` : ""),
      Context: g.epoch ? `cut ${many(g.epoch, "time")} before` : "not cut before",
      "As it was": SOUND[g.sound] ?? isUnsure,
      Prompt: request?.prompt && seen(String(request.prompt).slice(0, 300)),
      Parts: content?.profile?.map((p) => `${p.part} ${number(p.tokens)}`).join(" · "),
    }),
    !content && el("p.notice", "Its words were forgotten."),
    degraded.map((less) => el("p.notice", "Less than it could be: ",
      seen(typeof less === "string" ? less : JSON.stringify(less)))),
    content && el("div.two",
      section("What was given, line by line", el("ol.block", block.replace(/\n$/, "").split("\n").map(given)),
        note("The number is what the line cost, in tokens. Byte for byte: ",
          command(`heirloom expand ${g.id}`))),
      el("aside", { "aria-label": "Left out" }, el("h2", "Left out"), reasons.map(left),
        more > 0 && note("and ", number(more), " more"),
        !dropped.length && el("p.empty", "Nothing was left out."))),
  ];
}
