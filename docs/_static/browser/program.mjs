// Runs a Python program with the core of globalbandits in Pyodide, in a browser or in Node.

/**
 * @param {Function} loadPyodide of the runtime
 * @param {object} options for loadPyodide: where its files are
 * @param {ArrayBuffer} core the zip archive with the pure Python packages of the core
 * @param {string} program Python source
 * @param {Function} say called with every line that the program prints, and with each step
 */
export async function runProgram(loadPyodide, options, core, program, say) {
    say("step", "Starting Python");
    const python = await loadPyodide({ ...options, stdout: (line) => say("line", line) });
    const folder = python.runPython("import site; site.getsitepackages()[0]");
    python.unpackArchive(new Uint8Array(core), "zip", { extractDir: folder });
    say("version", python.runPython("import globalbandits; globalbandits.__version__"));
    say("step", "Loading NumPy");
    await python.loadPackage("numpy", { messageCallback: () => {}, errorCallback: () => {} });
    if (!("numpy" in python.loadedPackages)) {
        throw new Error("NumPy for Pyodide could not be loaded");
    }
    say("step", "Running");
    await python.runPythonAsync(program);
}
