// node docs/_ext/browser.mjs RUNTIME PROGRAM: run a program as the page "In a browser" does.
// RUNTIME is a folder of `browser.py`. NumPy is downloaded into it if it is not there.
// Prints the version of the package, then the program's lines; exit code 3 if there is no NumPy.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { runProgram } from "../_static/browser/program.mjs";

const [runtime, program] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(`${runtime}/pyodide.mjs`));
const core = await readFile(`${runtime}/core.zip`);
const say = (kind, text) => kind === "step" || console.log(text);
try {
    const options = { indexURL: runtime, packageCacheDir: runtime };
    await runProgram(loadPyodide, options, core, await readFile(program, "utf-8"), say);
} catch (error) {
    console.error(error.message);
    process.exitCode = error.message.startsWith("NumPy") ? 3 : 1;
}
process.exit();
