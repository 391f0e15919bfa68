"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // Explanations, on hover, on focus and on a tap.
  const tip = byId("tip");
  const showTip = (event) => {
    const term = event.target.closest("[data-help]");
    if (!term) return;
    tip.textContent = term.dataset.help;
    tip.hidden = false;
    const box = term.getBoundingClientRect();
    const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${below ? box.bottom + 6 : box.top - tip.offsetHeight - 6}px`;
    term.setAttribute("aria-describedby", "tip");
  };
  const hideTip = () => { tip.hidden = true; };
  for (const name of ["pointerover", "focusin"]) document.addEventListener(name, showTip);
  for (const name of ["pointerout", "focusout"]) document.addEventListener(name, hideTip);
  document.addEventListener("scroll", hideTip, { passive: true, capture: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  // Where in the report the reader is.
  const menu = document.querySelector("nav .menu");
  const narrow = matchMedia("(max-width: 60rem)");
  const fold = () => { menu.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  for (const link of links.values()) {
    link.addEventListener("click", () => { if (narrow.matches) menu.open = false; });
  }
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of document.querySelectorAll("main > section")) watch.observe(section);

  // The browser of cases.
  const PAGE = 10;
  const data = JSON.parse(byId("data").textContent);
  const form = byId("controls");
  const { author, twin, flag, sort, order, words } = form.elements;
  const option = (value, text) => new Option(text, value);
  const authors = [...new Set(data.cases.map((item) => item.author))];
  const flags = [...new Set(data.cases.flatMap(
    (item) => item.twins.flatMap((text) => (text ? text.flags : []))))].sort();
  author.append(...authors.map((name) => option(name, name)));
  twin.append(...data.twins.map((name, place) => option(place, name)));
  flag.append(...flags.map((name) => option(name, name.replaceAll("_", " "))));
  sort.append(...data.metrics.map((metric, place) => option(place, metric.title)));

  const plain = (text) => text.pieces.map(([words]) => words).join("");
  const shownTwins = () =>
    twin.value === "" ? data.twins.map((_, place) => place) : [Number(twin.value)];
  const hasFlag = (text) => text !== null && (flag.value === "" || text.flags.includes(flag.value));

  const score = (item) => {
    const values = shownTwins()
      .map((place) => item.twins[place]?.scores[Number(sort.value)])
      .filter((value) => value !== null && value !== undefined);
    return values.length ? values.reduce((a, b) => a + b) / values.length : null;
  };

  const matching = () => {
    const wanted = words.value.trim().toLowerCase();
    const found = data.cases.filter((item) =>
      (author.value === "" || item.author === author.value) &&
      (flag.value === "" || shownTwins().some((place) => hasFlag(item.twins[place]))) &&
      (wanted === "" ||
        [item.topic, plain(item.human), ...shownTwins().map((place) => item.twins[place])
          .filter(Boolean).map(plain)].some((text) => text.toLowerCase().includes(wanted))));
    if (sort.value === "") return found;
    const keyed = found.map((item) => [score(item), item]);
    // What has no score comes last, whichever the order.
    keyed.sort(([a], [b]) => (a === null) - (b === null) || Number(order.value) * (a - b));
    return keyed.map(([, item]) => item);
  };

  const wordsOf = (text) => {
    const box = make("div", "words");
    if (text.reason !== null || text.pieces.length === 0) {
      box.append(make("span", "missing", `no text: ${text.reason ?? "nothing was written"}`));
      return box;
    }
    for (const [piece, marks] of text.pieces) {
      if (marks.length === 0) { box.append(piece); continue; }
      const mark = make("mark", "", piece);
      const traits = marks.filter((name) => name !== "copied");
      if (traits.length) {
        mark.classList.add("evidence");
        mark.append(make("sup", "", traits.join(",")));
      }
      if (traits.length < marks.length) mark.classList.add("copied");
      box.append(mark);
    }
    box.tabIndex = 0;
    return box;
  };

  const scoresOf = (text) => {
    const list = make("dl", "scores");
    data.metrics.forEach((metric, place) => {
      const row = make("div", String(place) === sort.value ? "chosen" : "");
      const title = make("dt", "", metric.title);
      title.title = metric.help;
      const value = text.scores[place];
      row.append(title, make("dd", "", value === null ? "–" : String(Number(value.toFixed(3)))));
      list.append(row);
    });
    return list;
  };

  const traitsOf = (text, questions) => {
    const details = make("details", "trait-list");
    const present = text.traits.filter((trait) => trait.present).length;
    details.append(make("summary", "", `${present} of ${text.traits.length} traits`));
    const list = make("ol");
    text.traits.forEach((trait, place) => {
      const item = make("li", "", `${questions[place] ?? ""} ${trait.present ? "Yes" : "No"}`);
      if (trait.evidence) item.append(": ", make("q", "", trait.evidence));
      list.append(item);
    });
    details.append(list);
    return details;
  };

  const card = (name, text, questions, className) => {
    const box = make("article", `text ${className}`);
    const title = make("h4", "", name);
    if (text && text.flags.length) {
      const flags = make("span", "flags");
      for (const name of text.flags) flags.append(make("span", "", name.replaceAll("_", " ")));
      title.append(flags);
    }
    box.append(title);
    if (text === null) {
      box.append(make("p", "missing", "no answer"));
      return box;
    }
    box.append(wordsOf(text), scoresOf(text));
    if (text.traits.length) box.append(traitsOf(text, questions));
    if (text.verdict !== null) {
      const said = text.verdict ? "Judged the same author" : "Judged another author";
      box.append(make("p", "verdict", text.explanation ? `${said}: ${text.explanation}` : `${said}.`));
    }
    return box;
  };

  const show = (item) => {
    const box = make("article", "case");
    const questions = data.traits[item.author] ?? [];
    box.append(make("h3", "", `${item.author}, ${item.id.replace("_", " ")}`));
    box.append(make("p", "", item.topic));
    const texts = make("div", "texts");
    texts.tabIndex = 0;
    texts.setAttribute("role", "group");
    texts.setAttribute("aria-label", "Texts side by side");
    texts.append(card("the person", item.human, questions, "human"));
    for (const place of shownTwins()) {
      if (flag.value !== "" && !hasFlag(item.twins[place])) continue;
      texts.append(card(data.twins[place], item.twins[place], questions, "twin"));
    }
    box.append(texts);
    return box;
  };

  const list = byId("list");
  const more = byId("more");
  let found = [];
  const extend = () => {
    const start = list.childElementCount;
    list.append(...found.slice(start, start + PAGE).map(show));
    more.hidden = list.childElementCount >= found.length;
    byId("count").textContent =
      `${list.childElementCount} of ${found.length} cases shown` +
      (found.length < data.cases.length ? ` (${data.cases.length} in all)` : "");
    return list.children[start];
  };
  const renew = () => {
    found = matching();
    list.replaceChildren();
    extend();
  };
  form.addEventListener("input", renew);
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    const first = extend();
    if (first) { first.tabIndex = -1; first.focus(); }
  });
  renew();
})();
