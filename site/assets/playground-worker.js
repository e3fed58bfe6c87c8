/* A worker that runs tagwire. It receives {id, question} and posts {id, answer}, with JSON strings, and {stage} for progress. */
const python = new URL("../playground/", import.meta.url);
const PACKAGES = "/lib/python3.14/site-packages";
const tell = (stage) => postMessage({ stage: stage });

async function bytesOf(name) {
  const response = await fetch(new URL(name, python));
  if (!response.ok) { throw new Error(name + ": " + response.status + " " + response.statusText); }
  return new Uint8Array(await response.arrayBuffer());
}

async function start() {
  tell("Loading Python");
  const core = bytesOf("core.zip");
  const { loadPyodide } = await import(new URL("pyodide.mjs", python));
  const pyodide = await loadPyodide({ indexURL: python.href });
  tell("Loading tagwire");
  pyodide.FS.writeFile("/core.zip", await core);
  pyodide.runPython("import sys; sys.path.append('/core.zip'); from tagwire_site.playground import answer");
  return pyodide;
}

const started = start();
let whole = null;

/* Load the packages for specs and compressed records, on first use or when the worker is idle. */
function rest() {
  whole = whole || started.then(async (pyodide) => {
    const [archive, wheel] = await Promise.all([bytesOf("generate.zip"), bytesOf("cramjam.whl")]);
    pyodide.unpackArchive(archive, "zip", { extractDir: PACKAGES });
    pyodide.unpackArchive(wheel, "wheel", { extractDir: PACKAGES });
    pyodide.runPython("import importlib; importlib.invalidate_caches()");
    return pyodide;
  });
  return whole;
}

onmessage = async (event) => {
  const { id, question } = event.data;
  try {
    const pyodide = await (/"call": ?"(spec|own)"|"kind": ?"format"|"text": ?"(d4c3b2a1|a1b2c3d4|4d3cb2a1|0a0d0d0a|1f8b)/.test(question) ? rest() : started);
    const ask = pyodide.globals.get("answer");
    const answer = ask(question);
    ask.destroy();
    postMessage({ id: id, answer: answer });
  } catch (error) {
    postMessage({ id: id, answer: JSON.stringify({ error: String(error) }) });
  }
};

started.then(() => { tell("ready"); setTimeout(rest, 1500); }, (error) => postMessage({ failed: String(error) }));
