/** The recorder never shows secrets, whatever their format and location. */
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { Recorder } from "../../src/recorder/recorder.ts";
import { KnownSecrets } from "../../src/recorder/redact/secrets.ts";
import { findSecrets, listTools, recordPlanted } from "./planted-secrets.ts";

/** The number of exchanges. Each contains 28 secrets. */
const EXCHANGES = 400;

function createRecorder(contents: boolean): Recorder {
  const hash = (text: string) => createHmac("sha256", "key").update(text).digest("hex");
  return new Recorder({ contents, endpointPath: "/mcp", hash });
}

/** Returns everything that the recorder shows of an entry. */
function shownBy(recorder: Recorder): string {
  return JSON.stringify([recorder.summaries(), [...recorder.entries()]]);
}

test("without contents, none of 10,000 secrets in headers, arguments, results, log lines and errors is shown", {
  tags: "long",
}, () => {
  let planted = 0;
  for (let round = 0; round < EXCHANGES; round += 1) {
    const recorder = createRecorder(false);
    listTools(recorder);
    const { contents } = recordPlanted(recorder);
    planted += contents.length;
    expect(findSecrets(shownBy(recorder), contents)).toEqual([]);
  }
  expect(planted).toBeGreaterThan(10_000);
});

test("with contents, no token is shown, even where the server repeats it", { tags: "long" }, () => {
  let planted = 0;
  for (let round = 0; round < EXCHANGES; round += 1) {
    const recorder = createRecorder(true);
    listTools(recorder);
    const { tokens } = recordPlanted(recorder);
    planted += tokens.length;
    expect(findSecrets(shownBy(recorder), tokens)).toEqual([]);
  }
  expect(planted).toBeGreaterThan(4_000);
});

test.each([
  ["an authorization header in text", "Authorization: Bearer abcdef123456", "Authorization: [redacted]"],
  ["an API key of a well-known service", "use sk-abcdefghijklmnop now", "use [redacted] now"],
  ["a JSON Web Token", "the token eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.abc ends", "the token [redacted] ends"],
  ["a private key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY----- end", "[redacted] end"],
])("%s is replaced where it appears first", (_, text, shown) => {
  expect(new KnownSecrets().redact(text)).toBe(shown);
});
