// SPDX-License-Identifier: Apache-2.0
// Unmodified npm clients against `bittern serve`: clients.mjs BITTERN [--record FOLDER] [FAMILY...]
// With --record the bodies that the clients send are written to FOLDER/FAMILY.json, which
// tests/serve_bodies_test.py sends again.
import { join } from "node:path";
import { runTests, startRecorder, startServer, writeBodies } from "./harness.mjs";

const [program, ...rest] = process.argv.slice(2);
const folder = rest[0] === "--record" ? rest.splice(0, 2)[1] : undefined;
const families = rest.length ? rest : ["sdk", "agents", "ai_sdk", "anthropic", "langchain", "others", "programs"];

const running = await startServer(program);
let failures = 0;
for (const family of families) {
  const { tests } = await import(`./${family}.mjs`);
  const recorder = folder ? await startRecorder(running.url) : undefined;
  failures += await runTests(family, tests, { ...running, url: recorder?.url ?? running.url });
  if (recorder) {
    writeBodies(join(folder, family + ".json"), recorder.bodies);
    recorder.close();
  }
}
running.server.removeAllListeners("exit");
running.server.kill("SIGTERM");
process.exit(failures ? 1 : 0);
