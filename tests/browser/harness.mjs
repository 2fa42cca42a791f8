// Runs tests in one browser, and sums up in the words that `.ci/run` counts.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve, dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const top = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const folder = mkdtempSync(join(tmpdir(), "agenteval-browser-"));
const program = resolve(top, process.env.AGENTEVAL || "target/debug/agenteval");
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const agenteval = (...args) => execFileSync(program, args, { cwd: top, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

const tests = [];
export const test = (name, body) => tests.push({ name, body });

export function equal(actual, wanted, what) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what || "not equal"}: ${a} instead of ${b}`);
}
export function holds(condition, what) {
  if (!condition) throw new Error(what);
}

export async function run() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: flags });
  let failed = 0;
  for (const { name, body } of tests) {
    const contexts = [];
    const complaints = [];
    // Opens a page in a context of its own: no request may leave it, and its console stays silent.
    const open = async (file, options = {}) => {
      const { hash = "", ...rest } = options;
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...rest });
      contexts.push(context);
      const page = await context.newPage();
      const address = pathToFileURL(join(folder, file)).href;
      page.on("console", (message) => complaints.push(message.type() + ": " + message.text()));
      page.on("pageerror", (error) => complaints.push("error: " + error.message));
      page.on("request", (request) => { if (request.url().split("#")[0] !== address) complaints.push("request: " + request.url()); });
      page.on("dialog", (dialog) => { complaints.push("dialog: " + dialog.message()); dialog.dismiss(); });
      await page.goto(address + hash);
      return page;
    };
    try {
      await body(open);
      if (complaints.length) throw new Error(complaints.slice(0, 5).join("; "));
      console.log(`test ${name} ... ok`);
    } catch (error) {
      failed += 1;
      console.log(`test ${name} ... FAILED\n    ${error.stack}`);
    }
    for (const context of contexts) await context.close();
  }
  await browser.close();
  if (existsSync(folder)) rmSync(folder, { recursive: true });
  if (tests.length === 0) failed += 1;
  console.log(`test result: ${failed ? "FAILED" : "ok"}. ${tests.length - failed} passed; ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}
