// What a reviewer does with the page of `agenteval report`, in a real browser.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { agenteval, equal, folder, holds, run, test } from "./harness.mjs";
import { hostile, hostileRuns, many, ordinary } from "./traces.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const at = (name) => join(folder, name);
const lines = (runs) => runs.map((one) => JSON.stringify(one)).join("\n") + "\n";

const before = [];
const after = [];
for (let task = 0; task < 30; task += 1) {
  for (let trial = 1; trial <= 3; trial += 1) {
    before.push(ordinary(`b-${task}-${trial}`, `task-${task}`, trial, task % 5 ? [] : [2], true));
    after.push(ordinary(`r-${task}-${trial}`, `task-${task}`, trial, task % 3 ? [3] : [5], task % 3 !== 0));
  }
}
writeFileSync(at("before.ndjson"), lines(before));
writeFileSync(at("after.ndjson"), lines(after));
writeFileSync(at("hostile.ndjson"), lines(hostileRuns()));
agenteval("baseline", "save", "main", at("before.ndjson"), "--store", at("store"));
agenteval("report", at("after.ndjson"), "-o", at("plain.html"));
agenteval("report", at("after.ndjson"), "-o", at("content.html"), "--include-content");
agenteval("report", at("after.ndjson"), "-o", at("gate.html"), "--baseline", "main", "--store", at("store"));
agenteval("report", at("hostile.ndjson"), "-o", at("hostile.html"), "--include-content");
agenteval("report", at("hostile.ndjson"), "-o", at("hostile-bare.html"));
await many(at("many.ndjson"), 10_000, 40);
agenteval("report", at("many.ndjson"), "-o", at("many.html"));

const rows = (page) => page.locator("#rows tr");
const status = (page) => page.locator("#shown").textContent();
const firstRun = (page) => rows(page).first().locator("a").textContent();

test("the page opens with the verdict and what regressed", async (open) => {
  const page = await open("gate.html");
  equal(await page.locator(".verdict strong").textContent(), "FAIL");
  holds((await page.locator(".reasons").textContent()).includes("final_completion_rate: regression"), "the regression is not told");
  equal(await page.locator("#compare table").first().locator("tbody tr").count(), 4);
  holds((await page.title()).startsWith("FAIL: "), await page.title());
});

test("filters by outcome, error, task and text narrow the table, and clear", async (open) => {
  const page = await open("plain.html");
  equal(await status(page), "1–50 of 90 runs");
  await page.getByLabel("Outcome").selectOption({ label: "failed (30)" });
  equal(await status(page), "1–30 of 30 runs, filtered from 90");
  await page.getByLabel("Outcome").selectOption("");
  await page.getByLabel("Error type").selectOption({ label: "not_found (60)" });
  equal(await status(page), "1–50 of 60 runs, filtered from 90");
  await page.getByLabel("Task").fill("task-1");
  equal(await status(page), "1–3 of 3 runs, filtered from 90", "an exact task");
  await page.getByLabel("Task").fill("ask-1");
  equal(await status(page), "1–24 of 24 runs, filtered from 90", "a part of a task");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Text in ids").fill("R-29-");
  equal(await status(page), "1–3 of 3 runs, filtered from 90");
  await page.getByLabel("Text in ids").fill("nothing has this");
  equal(await status(page), "0 runs, filtered from 90");
});

test("columns sort both ways and say so", async (open) => {
  const page = await open("plain.html");
  const header = page.locator("#runs-app th", { hasText: /^run$/ });
  await header.getByRole("button").click();
  equal([await header.getAttribute("aria-sort"), await firstRun(page)], ["ascending", "r-0-1"]);
  await header.getByRole("button").click();
  equal([await header.getAttribute("aria-sort"), await firstRun(page)], ["descending", "r-9-3"]);
  await page.locator("#runs-app th button", { hasText: "retries" }).click();
  equal(await header.getAttribute("aria-sort"), null);
  equal(await rows(page).first().locator("td").nth(5).textContent(), "1");
});

test("a run opens as a timeline, closes, and the focus comes back", async (open) => {
  const page = await open("plain.html");
  await page.getByRole("link", { name: "r-0-1", exact: true }).last().click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  holds(page.url().endsWith("#run=r-0-1"), page.url());
  equal(await dialog.locator("h2").textContent(), "Run r-0-1");
  equal(await dialog.locator(".timeline tbody tr").count(), 6);
  holds((await dialog.textContent()).includes("Went wrong at step 5"), "where it went wrong");
  await dialog.getByRole("button", { name: "Next" }).click();
  equal(await dialog.locator("h2").textContent(), "Run r-0-2");
  await page.goBack();
  equal(await dialog.locator("h2").textContent(), "Run r-0-1");
  await page.keyboard.press("Escape");
  holds(!(await dialog.isVisible()), "it is closed");
  holds(!page.url().includes("run="), page.url());
  equal(await page.evaluate(() => document.activeElement.textContent), "r-0-1");
});

test("an error leads from its group to its step", async (open) => {
  const page = await open("plain.html");
  const group = page.locator("#failures tbody tr").first();
  equal(await group.locator("th").textContent(), "bad_args @ search_kb");
  await group.locator("a").first().click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  holds(/#run=r-\d+-\d&step=5$/.test(page.url()), page.url());
  const focused = await page.evaluate(() => document.activeElement.textContent);
  holds(focused.includes("bad_args") && focused.includes("went wrong here"), focused);
  await dialog.getByRole("button", { name: "Close" }).click();
  await group.getByRole("button", { name: "all" }).click();
  equal(await status(page), "1–30 of 30 runs, filtered from 90");
});

test("what a rule found leads to its run and step by keyboard", async (open) => {
  const page = await open("plain.html");
  const rules = page.locator("#why table").first();
  holds((await rules.locator("tbody").count()) > 0, "no rule found anything");
  const summary = rules.locator("summary").first();
  await summary.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  const name = await page.evaluate(() => document.activeElement.textContent);
  holds(/^r-\d+-\d$/.test(name), name);
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  equal(await dialog.locator("h2").textContent(), "Run " + name);
  await page.keyboard.press("Escape");
  equal(await page.evaluate(() => document.activeElement.textContent), name);
});

test("a deep link opens its run and step, and an unknown one says so", async (open) => {
  const page = await open("plain.html", { hash: "#run=r-3-2&step=5" });
  equal(await page.getByRole("dialog").locator("h2").textContent(), "Run r-3-2");
  equal(await page.evaluate(() => document.activeElement.dataset.step), "5");
  const other = await open("plain.html", { hash: "#run=no%20such" });
  holds((await other.getByRole("dialog").textContent()).includes("not in the page"), "it says so");
});

test("the theme switches and stays", async (open) => {
  const page = await open("plain.html", { colorScheme: "light" });
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  equal(await back(), "rgb(255, 255, 255)");
  const button = page.getByRole("button", { name: /Theme/ });
  await button.click();
  await button.click();
  equal([await button.textContent(), await back()], ["Theme: dark", "rgb(20, 23, 26)"]);
  await page.reload();
  equal([await button.textContent(), await back()], ["Theme: dark", "rgb(20, 23, 26)"]);
  const dark = await open("plain.html", { colorScheme: "dark" });
  equal(await dark.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 23, 26)");
});

test("the keyboard reaches filter, sorting, a run and its end", async (open) => {
  const page = await open("plain.html");
  const press = async (key, until, most = 200) => {
    for (let times = 0; times < most; times += 1) {
      await page.keyboard.press(key);
      if (await page.evaluate(until)) return;
    }
    throw new Error("the keyboard does not reach " + until);
  };
  await page.keyboard.press("Tab");
  equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the verdict");
  await press("Tab", 'document.activeElement.id === "f-outcome"');
  await press("Tab", 'document.activeElement.dataset.sort === "0"');
  await page.keyboard.press("Enter");
  equal(await page.locator("#runs-app th").first().getAttribute("aria-sort"), "ascending");
  await press("Tab", 'document.activeElement.closest("#rows") !== null');
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  equal(await page.evaluate(() => document.activeElement.id), "run-title");
  await press("Tab", 'document.activeElement.matches("dialog a, dialog [tabindex]")');
  equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "solid", "the focus is seen");
  await page.keyboard.press("Escape");
  equal(await page.evaluate(() => document.activeElement.textContent), "r-0-1");
  await press("Tab", 'document.activeElement.id === "p-next"');
  await page.keyboard.press("Enter");
  equal(await status(page), "51–90 of 90 runs");
});

for (const colorScheme of ["light", "dark"]) {
  test(`no rule of accessibility is broken in the ${colorScheme} theme`, async (open) => {
    for (const [file, hash] of [["gate.html", ""], ["content.html", "#run=r-0-1&step=5"], ["hostile.html", ""]]) {
      const page = await open(file, { colorScheme, hash });
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
      // Read by the debugger, which no policy of the page binds.
      await page.evaluate(axe);
      const { violations } = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
      equal(violations.map((one) => `${one.id}: ${one.nodes[0].html}`), [], file + hash);
    }
    for (const width of [390, 1280]) {
      const page = await open("gate.html", { colorScheme, viewport: { width, height: 800 } });
      holds(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `the page is wider than ${width}`);
    }
  });
}

test("hostile names, errors and texts are shown and run nothing", async (open) => {
  for (const file of ["hostile.html", "hostile-bare.html"]) {
    const page = await open(file);
    equal(await page.evaluate(() => [window.ran, document.scripts.length, document.images.length]), [undefined, file === "hostile.html" ? 4 : 3, 0]);
    equal(await page.evaluate(() => [...document.querySelectorAll("*")].some((e) => e.getAttributeNames().some((name) => name.startsWith("on")))), false);
    const shown = await page.locator("#rows").textContent();
    for (const text of ["<script>window.ran = 1</script>", '"><img src=x onerror="window.ran = 1">', "\\u{1b}[31mred", "\\u{202e}gnp.exe", "عربي ثم English", "数据分析 🚧 任务"]) {
      holds(shown.includes(text), "not shown: " + text);
    }
    holds(!/[\u001b\u202a-\u202e\u2066-\u2069]/.test(shown), "controls are in the page");
    for (let row = 0; row < hostile.length; row += 1) {
      await page.locator("#rows a").nth(row).click();
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      equal(await dialog.locator(".timeline tbody tr").count(), 2, "row " + row);
      await dialog.locator("details").evaluateAll((all) => all.forEach((one) => { one.open = true; }));
      await page.keyboard.press("Escape");
    }
    equal(await page.evaluate(() => window.ran), undefined);
    holds(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "long names widen the page");
  }
});

test("contents are there with the flag alone", async (open) => {
  const page = await open("content.html", { hash: "#run=r-0-1&step=5" });
  const dialog = page.getByRole("dialog");
  await dialog.locator("summary").nth(4).click();
  holds((await dialog.textContent()).includes("said aloud at step 5"), "the message");
  holds((await dialog.textContent()).includes("thought"), "the reasoning");
  const bare = readFileSync(at("plain.html"), "utf8");
  for (const word of ["said aloud", "asked", "answered", "thought"]) holds(!bare.includes(`"${word}`) && !bare.includes(`>${word}`), word);
});

test("10,000 runs of 40 attempts are there at once", async (open) => {
  const page = await open("many.html");
  // As the page measures itself: from the start of loading to its first row.
  const ready = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd);
  equal(await rows(page).count(), 50);
  holds(ready < 2_000, `the first row after ${ready} ms`);
  const took = await page.evaluate(() => {
    const times = [];
    for (const button of document.querySelectorAll("[data-sort]")) {
      const start = performance.now();
      button.click();
      document.body.getBoundingClientRect();
      times.push(performance.now() - start);
    }
    const text = document.getElementById("f-text");
    const start = performance.now();
    text.value = "task-7";
    text.dispatchEvent(new Event("input", { bubbles: true }));
    times.push(performance.now() - start);
    return times;
  });
  holds(Math.max(...took) < 300, "sorting and filtering take " + took.map(Math.round).join(", ") + " ms");
  await page.locator("#rows a").first().click();
  const steps = page.getByRole("dialog").locator(".timeline tbody tr");
  // The address changes first, and opens the run.
  await steps.first().waitFor();
  equal(await steps.count(), 40);
  console.log(`    first row ${Math.round(ready)} ms, slowest of sorting and filtering ${Math.round(Math.max(...took))} ms`);
});

test("without scripts the page has verdict, figures, comparison, failures and runs", async (open) => {
  const page = await open("gate.html", { javaScriptEnabled: false });
  equal(await page.locator(".verdict strong").textContent(), "FAIL");
  holds((await page.locator("#metrics tbody tr").count()) > 10, "the figures");
  equal(await page.locator("#compare table").first().locator("tbody tr").count(), 4);
  equal(await page.locator("#runs-static tbody > tr.more").count(), 90);
  holds(!(await page.locator("#runs-app").isVisible()) && !(await page.locator("#theme").isVisible()), "what needs the script is hidden");
  await page.locator("#failures a").first().click();
  const opened = page.locator("#runs-static details[open]");
  holds((await opened.count()) === 1 && (await opened.locator("tr.failed").isVisible()), "the link opens the timeline");
});

test("print shows the page in black on white without its controls", async (open) => {
  const page = await open("gate.html", { colorScheme: "dark" });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  equal(await page.evaluate(() => getComputedStyle(document.body).color), "rgb(0, 0, 0)");
  holds(!(await page.locator(".filters").isVisible()) && !(await page.locator("#theme").isVisible()), "controls are printed");
  holds(await page.locator(".verdict").isVisible(), "the verdict");
});

await run();
