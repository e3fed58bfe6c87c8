// Compile the modules in a folder with the same Python that will run them. Without this, starting takes seconds longer.
//     node compile.mjs PYODIDE FOLDER
// Each .py file is replaced with a .pyc file. Other files don't change.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [, , pyodideFolder, folder] = process.argv;
const { loadPyodide } = await import(pathToFileURL(path.join(pyodideFolder, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: pyodideFolder });
python.FS.mkdirTree("/work");
python.FS.mount(python.FS.filesystems.NODEFS, { root: path.resolve(folder) }, "/work");
const failed = python.runPython(`
import compileall, os, pathlib, py_compile
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
ok = compileall.compile_dir("/work", quiet=1, legacy=True, stripdir="/work", invalidation_mode=mode, optimize=1)
for source in list(pathlib.Path("/work").rglob("*.py")):
    source.unlink()
"" if ok else "some modules could not be compiled"
`);
if (failed) {
  console.error(failed);
  process.exit(1);
}
