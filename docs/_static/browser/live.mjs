// The button of the page "In a browser": runs the program there, and shows the picture if it cannot.
import { runProgram } from "./program.mjs";

const here = new URL("./", import.meta.url);
const button = document.getElementById("live-run");
const output = document.getElementById("live-output");
const program = document.getElementById("live-program");
const picture = document.getElementById("live-picture");

async function run() {
    button.disabled = true;
    output.hidden = false;
    output.textContent = "";
    const lines = [];
    const say = (kind, text) => {
        if (kind === "line") lines.push(text);
        output.textContent = [...lines, ...(kind === "step" ? [`${text} ...`] : [])].join("\n");
    };
    try {
        const { loadPyodide } = await import(new URL("runtime/pyodide.mjs", here));
        const core = await (await fetch(new URL("runtime/core.zip", here))).arrayBuffer();
        const options = { indexURL: new URL("runtime/", here).href };
        await runProgram(loadPyodide, options, core, program.value, say);
        output.textContent = lines.join("\n");
        picture.hidden = true;
    } catch (error) {
        output.textContent = `This page cannot run Python here (${error.message}). The picture shows the result.`;
        picture.hidden = false;
    }
    button.disabled = false;
}

program.value = await fetch(new URL("shop.py", here)).then((answer) => answer.text());
program.hidden = false;
button.hidden = false;
button.addEventListener("click", run);
