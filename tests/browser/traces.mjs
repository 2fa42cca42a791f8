// Traces for the browser: of an ordinary size, hostile, and many.
import { createWriteStream } from "node:fs";
import { once } from "node:events";

// A small generator of our own, so that every run of the tests sees the same page.
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const tools = ["search_kb", "get_order", "issue_refund", "write_reply", "track_parcel"];
const errors = ["tool_timeout", "bad_args", "rate_limit", "not_found"];

export function ordinary(id, task, trial, failing, completed) {
  const steps = [];
  for (let at = 1; at <= 6; at += 1) {
    const name = tools[at % tools.length];
    if (failing.includes(at)) {
      steps.push({ step_id: "s" + at, attempt: 1, type: "tool", name, status: "failed", duration_ms: 900, error: { type: errors[at % 4], message: "said aloud at step " + at } });
      if (completed) steps.push({ step_id: "s" + at, attempt: 2, type: "tool", name, status: "completed", duration_ms: 500, input: { q: "asked" }, output: "answered", reasoning: "thought" });
    } else {
      steps.push({ step_id: "s" + at, attempt: 1, type: "tool", name, status: "completed", duration_ms: 300 * at, input: { q: "asked" }, output: "answered", reasoning: "thought" });
    }
  }
  return { run_id: id, task_id: task, trial, agent: "bot", model: "m", status: completed ? "completed" : "failed", success: completed, steps };
}

export const hostile = [
  '<script>window.ran = 1</script>', '</style><script>window.ran = 1</script>', '"><img src=x onerror="window.ran = 1">',
  "\u001b[31mred\u001b[0m\u0007", "\u202egnp.exe\u202c \u2066x", "</script><!-- <script>", "javascript:window.ran=1", "عربي ثم English", "数据分析 🚧 任务",
  "' onmouseover='window.ran=1", "&lt;b&gt;", "{{constructor.constructor('window.ran=1')()}}", "long".repeat(300), "\u2028\u2029", "#run=x&step=1", "a b%2Fc&d=e#f",
];

export function hostileRuns() {
  return hostile.map((text, at) => ({
    run_id: text + at, task_id: text, trial: 1, agent: text, model: text, tags: { [text]: text }, status: at % 2 ? "failed" : text, success: at % 3 === 0,
    final: { report: text },
    steps: [
      { step_id: "a", type: text, name: text, status: "completed", input: text, output: text, reasoning: text },
      { step_id: "b", type: "tool", name: text, status: "failed", error: { type: text, message: text } },
    ],
  }));
}

// Writes `runs` runs of `steps` attempts, a line each.
export async function many(path, runs, steps) {
  const out = createWriteStream(path);
  const next = random(7);
  for (let run = 0; run < runs; run += 1) {
    const failed = next() < 0.2;
    const list = [];
    for (let at = 0; at < steps; at += 1) {
      const error = next() < 0.05 || (failed && at === steps - 1);
      list.push(`{"step_id":"s${at}","type":"tool","name":"${tools[Math.floor(next() * 5)]}","status":"${error ? "failed" : "completed"}",` +
        `"started_at":"2026-03-02T09:${String(Math.floor(at / 60)).padStart(2, "0")}:${String(at % 60).padStart(2, "0")}.${String(Math.floor(next() * 1000)).padStart(3, "0")}Z",` +
        `"duration_ms":${Math.floor(next() * 3000)},"tokens":${Math.floor(next() * 2000)}` +
        (error ? `,"error":{"type":"${errors[Math.floor(next() * 4)]}"}` : "") + "}");
    }
    const line = `{"run_id":"run-${String(run).padStart(6, "0")}","task_id":"task-${run % 500}","trial":${Math.floor(run / 500)},"model":"model-m","success":${!failed},"steps":[${list.join(",")}]}\n`;
    if (!out.write(line)) await once(out, "drain");
  }
  out.end();
  await once(out, "finish");
}
