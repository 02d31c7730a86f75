(() => {
  "use strict";
  const doc = document, root = doc.documentElement;
  const all = (selector, from = doc) => Array.from(from.querySelectorAll(selector));
  root.classList.add("js");

  // A large campaign has tens of thousands of nodes: each map lies in a <noscript> as text until it is unfolded.
  const inflate = (route) => {
    const text = route.querySelector(".map > noscript");
    if (!text) return;
    const box = doc.createElement("template");
    box.innerHTML = text.textContent;
    text.replaceWith(box.content);
    mark(route);
  };
  const entities = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };
  const plain = (html) => html.replace(/<[^>]*>/g, " ").replace(/&(lt|gt|quot|amp);/g, (name) => entities[name]);

  const routes = all("details.route");

  // Links to a route, a bug or a node unfold what they lead to.
  const reveal = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { return; }
    const target = id && doc.getElementById(id);
    if (!target) return;
    for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    requestAnimationFrame(() => target.scrollIntoView());
  };
  addEventListener("hashchange", reveal);
  doc.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    // The same fragment twice is no change of the address.
    if (link && link.getAttribute("href") === location.hash) reveal();
  });

  // Large picture.
  const dialog = doc.createElement("dialog");
  dialog.addEventListener("click", () => dialog.close());
  doc.body.append(dialog);
  doc.addEventListener("click", (event) => {
    const shot = event.target.closest(".shot");
    if (!shot) return;
    const image = new Image();
    const inside = shot.dataset.shot !== undefined && doc.querySelector("#shot-" + CSS.escape(shot.dataset.shot) + " image");
    image.src = inside ? inside.getAttribute("href") : shot.currentSrc || shot.src;
    image.alt = shot.getAttribute("aria-label") || shot.alt || "";
    dialog.replaceChildren(image);
    dialog.showModal();
  });

  // The selected node, with its screenshot beside it.
  const narrow = matchMedia("(max-width:900px)");
  const select = (row, keepView) => {
    const route = row.closest(".route"), view = route && route.querySelector(".view");
    if (!view) return;
    all(".n.sel", route).forEach((other) => other.classList.remove("sel"));
    row.classList.add("sel");
    const title = doc.createElement("h4");
    title.textContent = row.querySelector("b").textContent;
    const extra = row.nextElementSibling && row.nextElementSibling.matches(".x") ? row.nextElementSibling.cloneNode(true) : null;
    view.replaceChildren(title);
    if (extra) {
      all(".pic", extra).forEach((picture) => {
        const figure = doc.createElement("figure"), caption = doc.createElement("figcaption");
        caption.textContent = picture.querySelector("summary").textContent;
        figure.append(...all(".shot", picture), caption);
        picture.replaceWith(figure);
      });
      view.append(extra);
    } else {
      const nothing = doc.createElement("p");
      nothing.className = "quiet";
      nothing.textContent = "Nothing more is recorded for this element.";
      view.append(nothing);
    }
    if (narrow.matches) row.after(view);
    else route.querySelector(".map-and-view").append(view);
    if (!keepView) row.scrollIntoView({ block: "nearest" });
  };
  doc.addEventListener("click", (event) => {
    if (event.target.closest("a, .shot, .view")) return;
    const row = event.target.closest(".tree .n");
    if (row) select(row, true);
  });
  // Arrow keys walk the map.
  all(".map").forEach((map) => map.matches("div") && (map.tabIndex = 0));
  doc.addEventListener("keydown", (event) => {
    const map = event.target.closest && event.target.closest("div.map");
    if (!map || !["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const rows = all(".n", map).filter((row) => row.checkVisibility ? row.checkVisibility() : row.offsetParent);
    const at = rows.indexOf(map.querySelector(".n.sel")), row = rows[at];
    event.preventDefault();
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      if (row && row.matches("summary")) row.parentElement.open = event.key === "ArrowRight";
      return;
    }
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)))];
    if (next) select(next, false);
  });

  // Unfold and fold.
  all(".tools").forEach((tools) => { tools.hidden = false; });
  all("[data-fold]").forEach((button) => button.addEventListener("click", () => {
    const open = button.dataset.fold === "open";
    all("details.route").forEach((route) => { if (!route.hidden) route.open = open; });
  }));

  // Filter by text: routes and bugs that hold it, and the nodes in them.
  const field = doc.getElementById("q"), hits = doc.getElementById("hits");
  field.hidden = false;
  const texts = new WeakMap();
  const textOf = (element) => {
    if (!texts.has(element)) {
      const folded = element.querySelector(".map > noscript");
      const text = folded ? element.querySelector("summary").textContent + " " + plain(folded.textContent) + " " +
        all(".route-body > :not(.map-and-view)", element).map((part) => part.textContent).join(" ") : element.textContent;
      texts.set(element, text.toLowerCase());
    }
    return texts.get(element);
  };
  let query = "";
  function mark(route) {
    all(".n", route).forEach((row) => {
      const hit = query.length > 1 && row.textContent.toLowerCase().includes(query);
      row.classList.toggle("hit", hit);
      if (hit) for (let at = row.parentElement.closest("details"); at && at !== route; at = at.parentElement.closest("details")) at.open = true;
    });
  }
  const filter = () => {
    query = field.value.trim().toLowerCase();
    let shown = 0;
    routes.forEach((route) => {
      const match = !query || textOf(route).includes(query);
      route.hidden = !match;
      const line = doc.querySelector('#health tr[data-route="' + CSS.escape(route.dataset.route) + '"]');
      if (line) line.hidden = !match;
      if (match) shown += 1;
      mark(route);
    });
    let bugs = 0;
    all("details.bug").forEach((bug) => {
      bug.hidden = Boolean(query) && !textOf(bug).includes(query);
      if (!bug.hidden) bugs += 1;
    });
    hits.textContent = query ? shown + (shown === 1 ? " route, " : " routes, ") + bugs + (bugs === 1 ? " bug" : " bugs") : "";
  };
  let timer = 0;
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
  if (field.value) filter();
  // Unfold on demand; all at once where that is quick, so that the browser's own search finds everything.
  doc.addEventListener("toggle", (event) => {
    if (event.target.matches("details.route") && event.target.open) inflate(event.target);
  }, true);
  const size = routes.reduce((sum, route) => sum + route.querySelector(".map").textContent.length, 0);
  routes.forEach((route) => { if (size < 2000000 || route.open) inflate(route); });
  addEventListener("beforeprint", () => all("details.bug").forEach((bug) => { bug.open = true; }));
  reveal();
})();
