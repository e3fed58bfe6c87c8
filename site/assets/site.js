/* Shows the page's field trees, whose JSON is in the page. If there are several, a list selects one. Trees use the site's theme. */
(function () {
  "use strict";
  function theme() {
    const dark = document.body.getAttribute("data-md-color-scheme") === "slate";
    document.querySelectorAll(".tx, .tw-play").forEach((each) => { each.dataset.theme = dark ? "dark" : "light"; });
  }
  function mount(host) {
    const samples = JSON.parse(host.querySelector("script[type='application/json']").textContent);
    const choice = host.querySelector("select"), source = host.querySelector(".samples-source");
    const place = host.querySelector(".samples-tree"), link = host.querySelector(".samples-link");
    let tree = null;
    samples.forEach((sample, number) => choice.append(new Option(sample.title, number)));
    choice.value = host.dataset.samples === "last" ? samples.length - 1 : 0;
    function show() {
      const sample = samples[choice.value];
      source.textContent = sample.source;
      link.hidden = !sample.link;
      link.href = document.querySelector("[data-playground]") ? "#" + sample.link : new URL("playground.html#" + sample.link, base()).href;
      place.style.height = Math.max(260, Math.min(545, sample.tree.rows.depth.length * 30 + 150)) + "px";
      if (tree) { tree.update(sample.tree); } else { tree = window.tagwireTree(place, sample.tree); }
      theme();
    }
    choice.addEventListener("change", show);
    show();
  }
  function base() {
    const settings = JSON.parse(document.getElementById("__config").textContent);
    return new URL(settings.base + "/", location.href.split("#")[0]);
  }
  document.querySelectorAll("[data-samples]").forEach(mount);
  new MutationObserver(theme).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
  document.body.addEventListener("tagwire-theme", theme);
  theme();
})();
