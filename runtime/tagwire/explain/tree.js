/* Show the result of `html_tree.tree_of`: the field tree, and the hex dump next to it.

   tagwireTree(host, data, options) fills `host` and returns {update(data), select(row), rows}. Only visible lines
   are elements, so that a hundred thousand fields scroll as smoothly as ten. Input strings become text nodes only.
   options.onSelect(row) is called with the selected row; a row has path, type, value, kind, offset, length. */
(function () {
  "use strict";
  const ROW = 22, HEAD = 23, OVER = 12, MANY = 20, DULL = /^(0|-1|null|False|''|0 NONE|0 bytes)$/;
  const LEGEND = [["number", "number"], ["text", "text"], ["bytes", "bytes"], ["null", "null"], ["shape", "length, count, structure"], ["error", "error, not read"]];

  function make(tag, className, ...inside) {
    const element = document.createElement(tag);
    if (className) { element.className = className; }
    element.append(...inside);
    return element;
  }

  /* Convert columns to row objects, with parents, paths and the end of each subtree. */
  function rowsOf(data) {
    const columns = data.rows, rows = [], open = [];
    for (let n = 0; n < columns.depth.length; n++) {
      const row = { n: n, end: n + 1, kind: data.kinds[columns.kind[n]] };
      for (const key of ["depth", "name", "type", "value", "offset", "size", "length", "hex", "space"]) { row[key] = columns[key][n]; }
      while (open.length > row.depth) { open.pop(); }
      row.parent = open.length ? open[open.length - 1] : null;
      open.push(row);
      const around = row.parent ? row.parent.path : "";
      row.path = columns.path[n] !== null ? columns.path[n] : row.name[0] === "[" || !around ? around + row.name : around + "." + row.name;
      row.about = (data.about || {})[n] || "";
      for (let each = row.parent; each; each = each.parent) { each.end = n + 1; }
      rows.push(row);
    }
    return rows;
  }

  /* Return a row's runs of bytes: the offset, and the bytes as numbers (-1 if hidden) or the number of folded bytes. */
  function runsOf(row) {
    const bytes = (hex) => (hex.match(/../g) || []).map((pair) => parseInt(pair, 16));
    if (row.hex === null) {
      const shown = Math.min(row.size, 256);
      const run = [{ at: row.offset, bytes: new Array(shown).fill(-1), folded: 0 }];
      return shown < row.size ? run.concat({ at: row.offset + shown, bytes: [], folded: row.size - shown }) : run;
    }
    if (typeof row.hex === "string") { return [{ at: row.offset, bytes: bytes(row.hex), folded: 0 }]; }
    const head = bytes(row.hex[0]), tail = bytes(row.hex[1]), folded = row.size - head.length - tail.length;
    return [{ at: row.offset, bytes: head, folded: 0 }, { at: row.offset + head.length, bytes: [], folded: folded },
            { at: row.offset + row.size - tail.length, bytes: tail, folded: 0 }];
  }

  /* Return the lines of the dump: the bytes of each trace, then the decompressed bytes in it. */
  function linesOf(rows, width) {
    const lines = [];
    let line = null;
    function put(row, run) {
      if (run.folded) {
        line = null;
        lines.push({ at: run.at, fold: run.folded + " bytes not shown", row: row.n, pieces: [] });
        return;
      }
      for (let from = 0; from < run.bytes.length;) {
        const at = run.at + from;
        if (!line || line.at + line.count !== at || line.count === width) {
          line = { at: at, count: 0, pieces: [], plus: row.space > 0 };
          lines.push(line);
        }
        const taken = run.bytes.slice(from, from + width - line.count);
        line.pieces.push({ row: row.n, bytes: taken });
        if (row.firstLine === undefined) { row.firstLine = lines.length - 1; }
        line.count += taken.length;
        from += taken.length;
      }
    }
    function dump(group, title) {
      line = null;
      if (title) { lines.push({ title: title, pieces: [] }); }
      for (const row of group) { if (row.size) { for (const run of runsOf(row)) { put(row, run); } } }
    }
    rows.forEach((row) => { row.firstLine = undefined; });
    for (const group of traces(rows)) {
      const spaces = new Map();
      for (const row of group.rows) {
        if (!spaces.has(row.space)) { spaces.set(row.space, []); }
        spaces.get(row.space).push(row);
      }
      for (const [space, inside] of spaces) {
        dump(inside, space ? "decompressed: " + (inside[0].parent.path || inside[0].parent.name) : group.title);
      }
    }
    return lines;
  }

  /* Group rows by trace, in which offsets refer to the same bytes. A lower offset begins another trace. */
  function traces(rows) {
    const groups = [];
    let group = null, last = 0, title = "";
    for (const row of rows) {
      if (row.kind === "title" && row.offset < 0) { title = row.name; group = null; continue; }
      if (row.kind === "note" || row.kind === "error") { continue; }
      if (!group || (row.space === 0 && row.offset < last)) {
        group = { title: title, rows: [] };
        title = "";
        groups.push(group);
      }
      if (row.space === 0) { last = row.offset; }
      group.rows.push(row);
    }
    return groups;
  }

  /* A list of equally high lines, with elements only for the visible lines. */
  function virtualList(pane, draw) {
    const view = make("div", "tx-window"), sizer = make("div", "tx-sizer");
    let count = 0, asked = 0;
    pane.append(view, sizer);
    function paint() {
      asked = 0;
      const first = Math.max(0, Math.floor(pane.scrollTop / ROW) - OVER);
      const last = Math.min(count, Math.ceil((pane.scrollTop + pane.clientHeight) / ROW) + OVER);
      const lines = [];
      for (let n = first; n < last; n++) { lines.push(draw(n)); }
      view.style.transform = "translateY(" + first * ROW + "px)";
      view.replaceChildren(...lines);
    }
    const soon = () => { if (!asked) { asked = requestAnimationFrame(paint); } };
    pane.addEventListener("scroll", soon, { passive: true });
    new ResizeObserver(soon).observe(pane);
    return {
      soon: soon,
      resize(number) { count = number; sizer.style.height = number * ROW + "px"; paint(); },
      show(n) {
        const top = n * ROW, room = pane.clientHeight - HEAD - ROW;
        if (top < pane.scrollTop) { pane.scrollTop = top; }
        else if (top > pane.scrollTop + room) { pane.scrollTop = Math.max(0, top - Math.floor(room / 2)); }
      },
    };
  }

  function copyText(text) {
    if (navigator.clipboard && window.isSecureContext) { return navigator.clipboard.writeText(text); }
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    return Promise.resolve();
  }

  function tagwireTree(host, data, options) {
    options = options || {};
    let rows = [], lines = [], visible = [], place = new Map(), closed = new Set(), found = null, query = "";
    let lit = null, active = null, width = 16;
    const id = "tx" + (tagwireTree.count = (tagwireTree.count || 0) + 1);

    const title = make("span", "tx-title"), legend = make("div", "tx-legend"), input = make("input"), hits = make("span", "");
    const fold = make("button", "", "Collapse arrays"), unfold = make("button", "", "Expand all");
    const facts = make("pre", "tx-facts"), panes = make("div", "tx-panes"), detail = make("div", "tx-detail");
    const dumpPane = make("div", "tx-pane tx-dump"), treePane = make("div", "tx-pane tx-tree");
    LEGEND.forEach(([kind, words]) => legend.append(make("span", "tx-k-" + kind, words)));
    input.type = "search"; input.placeholder = "name, value, type or hex";
    input.setAttribute("aria-label", "Search fields");
    fold.type = unfold.type = "button";
    hits.setAttribute("role", "status"); detail.setAttribute("aria-live", "polite");
    dumpPane.setAttribute("role", "region"); dumpPane.setAttribute("aria-label", "Bytes");
    treePane.setAttribute("role", "tree"); treePane.setAttribute("aria-label", "Fields");
    treePane.tabIndex = 0; dumpPane.tabIndex = 0;
    const dumpHead = make("div", "tx-head tx-line"), treeHead = make("div", "tx-head");
    ["field", "value", "type"].forEach((each) => treeHead.append(make("span", "", each)));
    treeHead.setAttribute("aria-hidden", "true");
    dumpPane.append(dumpHead); treePane.append(treeHead);
    panes.append(dumpPane, treePane);
    host.classList.add("tx");
    host.replaceChildren(make("div", "tx-bar", title, legend, make("label", "tx-search", input, hits), fold, unfold), facts, panes, detail);

    const dump = virtualList(dumpPane, drawLine), tree = virtualList(treePane, drawRow);
    const isLit = (n) => lit !== null && n >= lit.n && n < lit.end;

    function drawLine(n) {
      const line = lines[n];
      if (line.title) { return make("div", "tx-line tx-fold", line.title); }
      const offset = make("span", "tx-offset", (line.plus ? "+" : "") + line.at);
      if (line.fold) { return make("div", "tx-line", offset, piece("tx-piece tx-fold", line.row, line.fold)); }
      const hex = make("span", "tx-hex"), ascii = make("span", "tx-ascii");
      hex.style.width = width * 3 + "ch";
      line.pieces.forEach((each) => {
        const kind = "tx-piece tx-k-" + rows[each.row].kind;
        const shown = each.bytes.map((byte) => (byte < 0 ? "**" : byte.toString(16).padStart(2, "0")));
        hex.append(piece(kind, each.row, shown.join(" ")), " ");
        ascii.append(piece(kind, each.row, each.bytes.map((byte) => (byte < 0 ? "*" : byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("")));
      });
      return make("div", "tx-line", offset, hex, ascii);
    }

    function piece(kind, n, text) {
      const span = make("span", kind + (isLit(n) ? " tx-on" : ""), text);
      span.dataset.row = n;
      return span;
    }

    function marked(text) {
      const at = query ? text.toLowerCase().indexOf(query) : -1;
      return at < 0 ? [text] : [text.slice(0, at), make("mark", "", text.slice(at, at + query.length)), text.slice(at + query.length)];
    }

    function drawRow(n) {
      const row = visible[n], isGroup = row.end > row.n + 1, isClosed = isGroup && closed.has(row.n) && !found;
      const wide = row.kind === "note" || row.kind === "title";
      const line = make("div", "tx-row" + (wide ? " tx-wide" : "") + (row.kind === "title" ? " tx-title-row" : row.kind === "error" ? " tx-error-row" : ""));
      const name = make("span", "tx-name" + (wide && row.kind === "note" ? " tx-k-note" : "")), twist = make("span", "tx-twist", isGroup ? (isClosed ? "▸" : "▾") : "");
      twist.setAttribute("aria-hidden", "true");
      name.style.paddingLeft = Math.min(row.depth, 12) * .95 + "em";
      name.append(twist, ...marked(row.name));
      line.append(name);
      if (!wide) {
        const shown = row.value ? make("span", "tx-value tx-k-" + row.kind, ...marked(row.value)) : make("span", "tx-value tx-sum", isClosed ? summary(row) : "");
        line.append(shown, make("span", "tx-type", ...marked(row.type)));
        shown.title = row.value;
      }
      line.id = id + "-" + row.n;
      line.dataset.row = row.n;
      line.dataset.path = row.path;
      line.title = row.about ? row.path + "\n" + row.about : row.path;
      line.setAttribute("role", "treeitem");
      line.setAttribute("aria-level", row.depth + 1);
      if (isGroup) { line.setAttribute("aria-expanded", String(!isClosed)); }
      if (row === active) { line.classList.add("tx-active"); line.setAttribute("aria-selected", "true"); }
      if (isLit(row.n)) { line.classList.add("tx-on"); }
      return line;
    }

    /* Summarize a closed struct by its distinctive values: strings first, and no zeros. */
    function summary(row) {
      const said = [];
      for (let n = row.n + 1; n < row.end; n = rows[n].end) {
        if (rows[n].type && rows[n].kind !== "shape" && rows[n].value && !DULL.test(rows[n].value)) { said.push(rows[n]); }
      }
      said.sort((one, other) => (other.kind === "text") - (one.kind === "text"));
      return said.slice(0, 3).map((each) => each.name + " " + each.value).join(", ");
    }

    function matches(row, words, hex) {
      return [row.name, row.path, row.value, row.type].some((text) => text.toLowerCase().includes(words)) ||
        (hex.length > 1 && typeof row.hex === "string" && row.hex.includes(hex));
    }

    function list() {
      visible = []; place = new Map();
      for (let n = 0; n < rows.length;) {
        const row = rows[n];
        if (found && !found.has(n)) { n = row.end; continue; }
        place.set(n, visible.length);
        visible.push(row);
        n = closed.has(n) && !found ? row.end : n + 1;
      }
      tree.resize(visible.length);
    }

    function search() {
      query = input.value.trim().toLowerCase();
      const hex = /^[0-9a-f\s]+$/.test(query) ? query.replace(/\s/g, "") : "";
      found = null; hits.textContent = "";
      if (query) {
        found = new Set();
        let count = 0, first = null;
        rows.forEach((row) => {
          if (!matches(row, query, hex)) { return; }
          count += 1; first = first || row;
          for (let each = row; each && !found.has(each.n); each = each.parent) { found.add(each.n); }
        });
        hits.textContent = count + (count === 1 ? " field" : " fields");
        if (first) { active = first; showDetail(first); }
      }
      list();
      if (active && place.has(active.n)) { tree.show(place.get(active.n)); }
    }

    function light(row) {
      if (row === lit) { return; }
      lit = row;
      for (const each of host.querySelectorAll("[data-row]")) { each.classList.toggle("tx-on", isLit(+each.dataset.row)); }
      if (!active || row) { showDetail(row || active); }
    }

    function showDetail(row) {
      if (!row) { detail.replaceChildren(make("span", "tx-where", "Point at a byte or a field; click to go to its other side. Arrow keys move in the tree, C copies the path.")); return; }
      const copy = make("button", "", "Copy path");
      copy.type = "button";
      copy.addEventListener("click", () => copyText(row.path).then(() => { copy.textContent = "Copied"; }));
      const size = row.length === 1 ? "1 byte" : row.length + " bytes";
      const where = row.offset < 0 ? "" : row.length ? size + " at " + (row.space ? "+" : "") + row.offset : "at " + row.offset;
      const parts = [make("code", "tx-path", row.path || row.name), make("span", "tx-where", [row.type, where].filter(Boolean).join(" · "))];
      if (row.path && row === active) { parts.push(copy); }
      if (row.value) { parts.push(make("span", "tx-full tx-k-" + row.kind, row.value)); }
      if (row.about) { parts.push(make("span", "tx-about", row.about)); }
      detail.replaceChildren(...parts);
    }

    function open(row) { for (let each = row.parent; each; each = each.parent) { closed.delete(each.n); } }

    function select(row, from) {
      active = row;
      if (!place.has(row.n)) { if (found && !found.has(row.n)) { input.value = ""; query = ""; found = null; hits.textContent = ""; } open(row); list(); }
      lit = null; light(row);
      treePane.setAttribute("aria-activedescendant", id + "-" + row.n);
      tree.show(place.get(row.n)); tree.soon();
      if (from !== "dump") {
        let n = row.n;
        while (n < row.end && rows[n].firstLine === undefined) { n += 1; }
        if (n < row.end) { dump.show(rows[n].firstLine); }
      }
      if (options.onSelect) { options.onSelect(row); }
    }

    function toggle(row) {
      if (closed.has(row.n)) { closed.delete(row.n); } else { closed.add(row.n); }
      list();
    }

    const isElements = (row) => row.end > row.n + 1 && rows[row.n + 1].name[0] === "[";
    function foldArrays(most) {
      rows.forEach((row) => {
        if (!isElements(row)) { return; }
        if (most === 0) { closed.add(row.n); return; }
        let count = 0;
        for (let n = row.n + 1; n < row.end; n = rows[n].end) { count += 1; }
        if (count > most) { for (let n = row.n + 1; n < row.end; n = rows[n].end) { if (rows[n].end > n + 1) { closed.add(n); } } }
      });
    }

    /* Place tree and bytes side by side if both fit; otherwise the bytes go above, in at most a third of the height. */
    function fit() {
      const room = host.clientWidth, bytes = room < 560 || (room >= 820 && room < 1150) ? 8 : 16;
      host.classList.toggle("tx-narrow", room < 820);
      host.classList.toggle("tx-tiny", room < 560);
      if (bytes !== width) { width = bytes; relay(); }
    }

    function relay() {
      lines = linesOf(rows, width);
      dumpHead.replaceChildren(make("span", "tx-offset", "offset"), make("span", "", "bytes and text"));
      dump.resize(lines.length);
      panes.style.setProperty("--tx-lines", "min(" + (lines.length * ROW + HEAD + 4) + "px, 34%)");
      panes.style.setProperty("--tx-dump", "calc(" + (11 + width * 4) + "ch + 1.4rem)");
    }

    function update(fresh) {
      const kept = active ? active.path : null;
      rows = rowsOf(fresh);
      closed = new Set(); lit = null; active = null; found = null;
      foldArrays(MANY);
      const names = rows.map((row) => (row.kind === "title" || row.kind === "note" ? 0 : Math.min(row.depth, 12) * 1.6 + 2.5 + row.name.length));
      treePane.style.setProperty("--tx-names", Math.ceil(names.reduce((one, other) => Math.max(one, other), 12) * 7.6) + "px");
      title.textContent = fresh.title;
      facts.textContent = fresh.facts.join("\n"); facts.hidden = !fresh.facts.length;
      relay();
      const same = kept ? rows.find((row) => row.path === kept && row.type) : null;
      if (input.value) { search(); } else { list(); }
      if (same) { select(same); } else { showDetail(null); }
      fold.hidden = unfold.hidden = !rows.some(isElements);
    }

    function rowAt(event) {
      const element = event.target.closest("[data-row]");
      return element ? rows[+element.dataset.row] : null;
    }

    host.addEventListener("mouseover", (event) => { if (event.target.closest(".tx-pane")) { light(rowAt(event)); } });
    panes.addEventListener("mouseleave", () => light(null));
    treePane.addEventListener("click", (event) => {
      const row = rowAt(event);
      if (!row) { return; }
      if (event.target.closest(".tx-twist") && row.end > row.n + 1) { toggle(row); } else { select(row, "tree"); }
    });
    treePane.addEventListener("dblclick", (event) => { const row = rowAt(event); if (row && row.end > row.n + 1) { toggle(row); } });
    dumpPane.addEventListener("click", (event) => { const row = rowAt(event); if (row) { select(row, "dump"); } });
    treePane.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || !visible.length) { return; }
      const at = active && place.has(active.n) ? place.get(active.n) : -1, row = visible[at];
      const page = Math.max(1, Math.floor(treePane.clientHeight / ROW) - 2), isGroup = row && row.end > row.n + 1;
      const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: visible.length - 1, PageDown: at + page, PageUp: at - page };
      if (event.key in steps) { select(visible[Math.max(0, Math.min(visible.length - 1, steps[event.key]))], "tree"); }
      else if (event.key === "ArrowRight" && isGroup) { if (closed.has(row.n)) { toggle(row); } else { select(rows[row.n + 1], "tree"); } }
      else if (event.key === "ArrowLeft" && row) { if (isGroup && !closed.has(row.n)) { toggle(row); } else if (row.parent) { select(row.parent, "tree"); } }
      else if (event.key === "Enter" && isGroup) { toggle(row); }
      else if (event.key === "Escape") { active = null; lit = null; showDetail(null); tree.soon(); dump.soon(); }
      else if (event.key.toLowerCase() === "c" && row) { copyText(row.path); }
      else { return; }
      event.preventDefault();
    });
    input.addEventListener("input", search);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { input.value = ""; search(); event.preventDefault(); return; }
      if (event.key !== "Enter" || !found) { return; }
      const hex = /^[0-9a-f\s]+$/.test(query) ? query.replace(/\s/g, "") : "", from = active ? active.n : -1;
      const next = rows.find((row) => row.n > from && matches(row, query, hex)) || rows.find((row) => matches(row, query, hex));
      if (next) { select(next, "tree"); }
    });
    fold.addEventListener("click", () => { foldArrays(0); list(); });
    unfold.addEventListener("click", () => { closed.clear(); list(); });
    new ResizeObserver(fit).observe(host);
    update(data);
    fit();
    return { update: update, select: (n) => select(rows[n]), get rows() { return rows; } };
  }

  window.tagwireTree = tagwireTree;
  document.querySelectorAll("[data-tree]").forEach((host) => {
    tagwireTree(host, JSON.parse(document.getElementById(host.dataset.tree).textContent));
  });
})();
