#!/usr/bin/env node
// Starts the binary of the package for this platform, in the place of this
// process where Node can do that.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const { constants } = require("node:os");

// The packages in `optionalDependencies`, of which npm installs the fitting one.
const PACKAGES = {
  "linux x64": "ptk-linux-x64",
  "linux arm64": "ptk-linux-arm64",
};

function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(1);
}

function findBinary() {
  const platform = `${process.platform} ${process.arch}`;
  const name = PACKAGES[platform];
  if (!name) {
    fail(
      `ptk has no binary for ${platform}, only for ${Object.keys(PACKAGES).join(" and ")}. ` +
        "Build it from source instead: cargo install ptk-cli",
    );
  }
  try {
    return require.resolve(`${name}/bin/ptk`);
  } catch {
    const { version } = require("../package.json");
    return fail(
      `the package ${name} is missing. npm installs it together with ptk, unless optional ` +
        "dependencies are turned off (--omit=optional), node_modules was copied from another " +
        "platform, or the system's C library is not glibc (Alpine, for example). Try:\n" +
        `  npm install --include=optional ptk@${version}\n` +
        "With another C library, build ptk from source: cargo install ptk-cli",
    );
  }
}

// Says why the binary cannot be started. Node 22.15 to 25 abort where execve fails,
// with nothing to catch.
function checkStarts(binary) {
  try {
    fs.accessSync(binary, fs.constants.X_OK);
  } catch (error) {
    fail(`${binary} could not be started: ${error.message}`);
  }
  const loader = process.arch === "x64" ? "/lib64/ld-linux-x86-64.so.2" : "/lib/ld-linux-aarch64.so.1";
  if (!fs.existsSync(loader)) {
    fail(
      `${loader} is missing: the system's C library is not glibc (Alpine, for example). ` +
        "Build ptk from source instead: cargo install ptk-cli",
    );
  }
}

// For Node before 22.15: a child, and this process passes on what it is sent.
function runAsChild(binary, args) {
  // Ctrl-C reaches the child without help, and it counts how often: passing it on
  // would make two of one.
  const onTerminal = [process.stdin, process.stdout, process.stderr].some((it) => it.isTTY);
  const child = spawn(binary, args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR2"]) {
    const byTerminal = signal === "SIGINT" || signal === "SIGQUIT";
    process.on(signal, () => byTerminal && onTerminal || child.kill(signal));
  }
  child.on("error", (error) => fail(`${binary} could not be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
      // Where the signal does not end this process: what a shell would report.
      code = 128 + constants.signals[signal];
    }
    process.exitCode = code;
  });
}

const binary = findBinary();
checkStarts(binary);
const args = process.argv.slice(2);
if (typeof process.execve === "function") {
  try {
    process.execve(binary, [binary, ...args]);
  } catch (error) {
    fail(`${binary} could not be started: ${error.message}`);
  }
} else {
  runAsChild(binary, args);
}
