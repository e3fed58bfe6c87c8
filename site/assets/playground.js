/* The playground's page: it sends requests to the worker, shows the answers, and keeps the input in the URL. */
(function () {
  "use strict";
  const host = document.querySelector("[data-playground]");
  if (!host) { return; }
  const find = (name) => host.querySelector("[data-" + name + "]");
  const status = host.querySelector(".tw-status");
  const EXAMPLES = {
    "a client request": "hex=000c000400000007000364" + "6f630002670000000302" + "6d0000",
    "a response to an unknown request": "hex=0000000700000000000200000001" + "0a6c6f63616c686f73740000238400000263" + "000000010100",
    "a truncated request": "kind=request&hex=000c00040000000700036" + "46f630002670000",
    "a record batch": "kind=format&hex=00000000000000000000003affffffff0223f463e10000000000000000000000000005000000000000" + "0005ffffffffffffffffffffffffffff00000001100000000" + "2" + "6b027600",
  };
  const SPEC = `{
  "apiKey": 7,
  "type": "request",
  "listeners": ["broker"],
  "name": "OrderRequest",
  "validVersions": "0-1",
  "flexibleVersions": "1+",
  "fields": [
    { "name": "Id", "type": "int64", "versions": "0+" },
    { "name": "Item", "type": "string", "versions": "0+" },
    { "name": "Note", "type": "string", "versions": "1+", "nullableVersions": "1+", "ignorable": true }
  ]
}
`;

  const RELEASED = SPEC.replace('"int64"', '"int32"');

  if (location.protocol === "file:") {
    status.textContent = "A browser runs Python only for pages that come from a server. Start one in the folder of the site: python3 -m http.server --bind 127.0.0.1 8000";
    status.classList.add("tw-error");
    return;
  }
  const begun = performance.now();
  const script = document.querySelector("script[src$='playground.js']").src;
  const waiting = new Map();
  let last = 0, tree = null, ownTree = null, shown = null;

  /* Start the cache before the worker, because it can only store files that are loaded after its start. */
  async function cached() {
    if (!navigator.serviceWorker) { return; }
    try {
      const found = await navigator.serviceWorker.register(new URL("playground-cache.js", script));
      const cache = found.active || found.waiting || found.installing;
      if (cache.state === "activated") { return; }
      await new Promise((resolve) => { cache.addEventListener("statechange", () => { if (cache.state === "activated") { resolve(); } }); setTimeout(resolve, 1000); });
    } catch (error) { /* without a cache, as in a private window, Python still loads, only slower */ }
  }

  function failed(text) { status.textContent = "Python could not be started: " + text; status.classList.add("tw-error"); }

  const started = cached().then(() => {
    const worker = new Worker(new URL("playground-worker.js", script), { type: "module" });
    worker.onerror = (event) => failed(event.message || "the worker failed to load");
    worker.onmessage = (event) => {
      const data = event.data;
      if (data.failed) { failed(data.failed); }
      else if (data.stage === "ready") {
        const seconds = ((performance.now() - begun) / 1000).toFixed(1);
        status.textContent = "Ready after " + seconds + " seconds";
        host.dataset.ready = seconds;
        ask({ call: "messages" }).then((found) => {
          for (const name of Object.keys(found.messages)) { host.querySelector("datalist").append(new Option(found.messages[name], name)); }
        });
      } else if (data.stage) { status.textContent = data.stage + "..."; }
      else { waiting.get(data.id)(JSON.parse(data.answer)); waiting.delete(data.id); }
    };
    return worker;
  });

  function ask(question) {
    last += 1;
    const id = last;
    started.then((worker) => worker.postMessage({ id: id, question: JSON.stringify(question) }));
    return new Promise((resolve) => waiting.set(id, resolve));
  }

  /* Return a function that sends a request. If a newer request of the same kind follows, the older one or its answer is dropped. */
  function latest(question, show) {
    let number = 0, timer = 0;
    return (wait) => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const own = ++number;
        host.classList.add("tw-busy");
        const found = await ask(question());
        host.classList.remove("tw-busy");
        if (own === number) { show(found); }
      }, wait);
    };
  }

  function question() {
    const kind = find("kind").value;
    const words = kind === "message" || kind === "response" ? [find("message").value.trim(), find("version").value.trim()] : [];
    return { text: find("bytes").value, kind: kind, words: words, format: find("format").value || "auto" };
  }

  function showBytes(found) {
    const failure = find("failure");
    find("read").textContent = found.read || "";
    const candidates = find("candidates");
    candidates.hidden = !(found.candidates || []).length;
    candidates.replaceChildren("Read it as ", ...(found.candidates || []).map((each) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = each.label;
      button.addEventListener("click", () => {
        find("kind").value = each.kind;
        find("message").value = each.kind === "response" ? each.words[0].replace(/Response$/, "") : each.words[0];
        find("version").value = each.words[1];
        kindChanged();
        explain(0);
      });
      return button;
    }));
    const said = found.error || found.failure || "";
    failure.hidden = !said || !find("bytes").value.trim();
    failure.textContent = said;
    if (found.error) { host.dataset.answered = (+host.dataset.answered || 0) + 1; return; }
    shown = found;
    find("text").textContent = found.text;
    find("edit").hidden = true;
    const place = find("tree-here");
    place.hidden = !found.size;
    place.style.height = Math.max(300, Math.min(620, found.tree.rows.depth.length * 30 + 150)) + "px";
    if (tree) { tree.update(found.tree); } else { tree = window.tagwireTree(place, found.tree, { onSelect: choose }); }
    host.dataset.answered = (+host.dataset.answered || 0) + 1;
    remember();
    document.body.dispatchEvent(new Event("tagwire-theme"));
  }

  function choose(row) {
    const form = find("edit");
    form.hidden = !shown.editable.includes(row.n);
    form.dataset.row = row.n;
    find("edit-path").textContent = row.path;
    const bytes = typeof row.hex === "string" ? row.hex : "";
    find("edit-value").value = row.kind === "text" ? textOf(row.value) : row.kind === "bytes" ? bytesOf(row) : row.value.split(" ")[0];
    find("edit-value").placeholder = bytes;
  }
  const textOf = (value) => value.replace(/^['"]|['"]$/g, "");
  const bytesOf = (row) => (/ ([0-9a-f]*)$/.exec(row.value) || ["", ""])[1];

  const explain = latest(() => ({ call: "explain", ...question() }), showBytes);
  find("edit").addEventListener("submit", async (event) => {
    event.preventDefault();
    const found = await ask({ call: "edit", row: +find("edit").dataset.row, value: find("edit-value").value, ...question() });
    if (!found.error) { find("bytes").value = found.hex; }
    showBytes(found);
  });

  function showSpec(found) {
    const problems = find("problems");
    problems.hidden = !found.problems && !found.error;
    problems.textContent = found.error || found.problems;
    find("verdict").textContent = found.classes ? found.name + ", versions " + found.versions + ": " + (found.problems ? "valid, with warnings" : "valid") : "";
    find("breaking").textContent = found.breaking || "Put the released spec on the right.";
    find("classes").textContent = found.classes || "";
    const choice = find("layout"), kept = choice.value;
    choice.replaceChildren(...(found.layouts || []).map((each) => new Option("version " + each.version, each.version)));
    choice.value = (found.layouts || []).some((each) => each.version === kept) ? kept : choice.options.length ? choice.options[choice.options.length - 1].value : "";
    choice.onchange = () => { find("layout-text").textContent = ((found.layouts || []).find((each) => each.version === choice.value) || { text: "" }).text; own(0); };
    choice.onchange();
    host.dataset.answered = (+host.dataset.answered || 0) + 1;
    remember();
  }
  const spec = latest(() => ({ call: "spec", text: find("spec").value, released: find("released").value }), showSpec);

  /* Explain bytes of the visitor's own message, with the spec on the page and the selected version. */
  const own = latest(() => ({ call: "own", text: find("spec").value, data: find("own").value, version: find("layout").value || "0" }), (found) => {
    const said = find("own").value.trim() ? found.error || found.failure : "", place = find("own-tree");
    find("own-failure").hidden = !said;
    find("own-failure").textContent = said;
    place.hidden = !found.tree || !find("own").value.trim();
    if (!found.tree) { return; }
    place.style.height = "300px";
    if (ownTree) { ownTree.update(found.tree); } else { ownTree = window.tagwireTree(place, found.tree); }
    document.body.dispatchEvent(new Event("tagwire-theme"));
  });

  async function takeFile(file) {
    if (!file) { return; }
    const bytes = new Uint8Array(await file.slice(0, 1 << 20).arrayBuffer());
    find("kind").value = "guess";
    kindChanged();
    find("bytes").value = bytes.some((each) => each < 9 || each > 126) ? Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("") : new TextDecoder().decode(bytes);
    explain(0);
  }

  function showTab(name) {
    host.querySelectorAll("[data-panel]").forEach((each) => { each.hidden = each.dataset.panel !== name; });
    host.querySelectorAll("[data-tab]").forEach((each) => { each.setAttribute("aria-selected", String(each.dataset.tab === name)); each.tabIndex = each.dataset.tab === name ? 0 : -1; });
    host.dataset.shows = name;
    if (name === "spec") { if (!find("spec").value) { find("spec").value = SPEC; find("released").value = RELEASED; } spec(0); } else { explain(0); }
  }

  function kindChanged() {
    const kind = find("kind").value, named = kind === "message" || kind === "response";
    find("message").hidden = find("version").hidden = !named;
    find("format").hidden = kind !== "format";
  }

  /* Store the input in the URL fragment, which browsers never send to a server. */
  function remember() {
    const fields = new URLSearchParams();
    if (host.dataset.shows === "spec") {
      fields.set("spec", find("spec").value);
      if (find("released").value) { fields.set("released", find("released").value); }
    } else if (shown && find("bytes").value.trim()) {
      const kind = find("kind").value;
      if (kind === "message") { fields.set("message", find("message").value); fields.set("version", find("version").value); }
      else if (kind === "response") { fields.set("response", find("message").value); fields.set("version", find("version").value); }
      else if (kind === "format") { fields.set("format", find("format").value); }
      else if (kind !== "guess") { fields.set("kind", kind); }
      fields.set("hex", shown.hex);
    }
    const text = fields.toString();
    if (text.length < 100000) { history.replaceState(null, "", text ? "#" + text : location.pathname + location.search); }
  }

  function recall(text) {
    const fields = new URLSearchParams(text);
    if (fields.has("spec")) {
      find("spec").value = fields.get("spec");
      find("released").value = fields.get("released") || "";
      return "spec";
    }
    find("bytes").value = fields.get("hex") || fields.get("base64") || "";
    const kinds = { message: "message", response: "response", format: "format" };
    const kind = Object.keys(kinds).find((each) => fields.has(each)) || fields.get("kind") || "guess";
    find("kind").value = kind;
    find("message").value = fields.get("message") || fields.get("response") || "";
    find("version").value = fields.get("version") || "";
    find("format").value = fields.get("format") || "auto";
    kindChanged();
    return "bytes";
  }

  Object.keys(EXAMPLES).forEach((each) => find("example").append(new Option(each, EXAMPLES[each])));
  find("example").addEventListener("change", (event) => { if (event.target.value) { recall(event.target.value); explain(0); event.target.value = ""; } });
  find("kind").addEventListener("change", () => { kindChanged(); explain(0); });
  ["message", "version", "format"].forEach((each) => find(each).addEventListener("change", () => explain(0)));
  find("bytes").addEventListener("input", () => explain(300));
  ["spec", "released"].forEach((each) => find(each).addEventListener("input", () => spec(400)));
  host.querySelectorAll("[data-tab]").forEach((each) => each.addEventListener("click", () => showTab(each.dataset.tab)));
  host.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") { return; }
    const other = [...host.querySelectorAll("[data-tab]")].find((each) => each.dataset.tab !== host.dataset.shows);
    other.focus();
    showTab(other.dataset.tab);
  });
  find("own").addEventListener("input", () => own(300));
  find("file").addEventListener("change", (event) => takeFile(event.target.files[0]));
  host.addEventListener("dragover", (event) => event.preventDefault());
  host.addEventListener("drop", (event) => { event.preventDefault(); takeFile(event.dataTransfer.files[0]); });
  window.addEventListener("hashchange", () => showTab(recall(location.hash.slice(1))));
  const first = document.getElementById("tw-first");
  if (first && !location.hash) { recall(EXAMPLES["a client request"]); showBytes(JSON.parse(first.textContent)); host.dataset.answered = 0; }
  showTab(recall(location.hash.slice(1) || EXAMPLES["a client request"]));
})();
