// @module-tag long
/** The page on which a user chooses a file, in a browser. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Chromium, WITH_MOUSE } from "../harness/chromium.ts";
import { FilesLab } from "./support.ts";

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());

/** Chooses or drops a file in the page. */
const choose = (how: "choose" | "drop", name: string, text: string, type: string, times = 1) => `(() => {
  const data = new DataTransfer();
  data.items.add(new File([${JSON.stringify(text)}.repeat(${times})], ${JSON.stringify(name)}, { type: ${JSON.stringify(type)} }));
  const input = document.querySelector("input");
  if (${how === "drop"}) document.querySelector("label").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  else { input.files = data.files; input.dispatchEvent(new Event("change")); }
})()`;
const STATUS = 'document.querySelector("[role=status]").textContent';
const CLASS = 'document.querySelector("[role=status]").className';
/** The Chromium flag that emulates a touch screen, as phones have. */
const WITHOUT_MOUSE = [
  "--blink-settings=primaryHoverType=1,availableHoverTypes=1,primaryPointerType=2,availablePointerTypes=2",
];

test.each(["choose", "drop"] as const)("a user can %s a file, and sees why one was refused", async (how) => {
  const user = `user-${how}`;
  const { text } = await lab.call("lines", {}, user);
  const [url = ""] = /http\S+(?=')/.exec(text) ?? [];
  const [, file = ""] = /pass "(\S+)"/.exec(text) ?? [];
  await using browser = await Chromium.start();
  await browser.open(url.replace(/\/$/, how === "drop" ? "" : "/"));
  await browser.run(choose(how, "page.csv", "<html><script>", "text/csv"));
  await browser.waitFor(`${STATUS}.startsWith("The file was refused: it is declared as CSV, but")`);
  await browser.run(choose(how, "large.csv", "1,2\n".repeat(300_000), "text/csv"));
  await browser.waitFor(`${STATUS} === "The file is too large: at most 1 MB."`);
  // So that the user can choose a smaller file under the same name.
  expect(await browser.run('document.querySelector("input").value')).toBe("");
  expect(await browser.run(CLASS)).toBe("bad");
  await browser.run(choose(how, 'my "report" ä.csv', "a,b\n1,2\n", "text/csv"));
  await browser.waitFor(
    `${STATUS} === "The file has arrived. Return to the assistant, and say that the file is there if it does not go on by itself."`,
  );
  expect(await browser.run(CLASS)).toBe("good");
  // Nothing invites the user to send another file.
  expect(await browser.run('document.querySelector("main").innerText.split(/\\n+/).length')).toBe(2);
  // The refused upload is an error of the network for the browser. There are no others, such as violations of the policy.
  expect(browser.errors.filter((error) => !/status of 415/.test(error))).toEqual([]);
  expect((await lab.call("lines", { report: file }, user)).text).toBe(
    "2 lines in my _report_ ä.csv (text/csv, 8 bytes)",
  );
});

test.each([3, 60])("a user who sends %i MB of another type than declared sees why it was refused", async (mb) => {
  const { url } = await lab.link(`large-${mb}`);
  await using browser = await Chromium.start();
  await browser.open(url);
  await browser.run(choose("choose", "a.png", "x".repeat(1_000), "image/png", mb * 1_000));
  await browser.waitFor(`${STATUS} === "The file was refused: it is declared as PNG, but its content is text.\\n"`);
});

test.each([375, 1280])(
  "the page fits into %i px, and a reader of a telephone is not asked to drop a file",
  async (width) => {
    const { url } = await lab.link("narrow");
    await using browser = await Chromium.start(...(width === 1280 ? [WITH_MOUSE] : WITHOUT_MOUSE));
    await browser.open(url);
    const text = (await browser.run('document.querySelector("label").innerText')) as string;
    expect(text.split(/\n+/)).toEqual([...(width === 1280 ? ["Drop a file here, or"] : []), "Choose a file"]);
    await browser.resize(width, 700);
    const widest = "Math.max(...[...document.querySelectorAll('*')].map((each) => each.getBoundingClientRect().right))";
    expect(await browser.run(widest)).toBeLessThanOrEqual(width);
  },
);

test("the page works behind a proxy that removes a prefix of the path", async () => {
  const { url, file } = await lab.link("proxied");
  const proxy = createServer((given, response) => {
    const options = { port: new URL(url).port, path: given.url?.replace("/api/", "/"), method: given.method };
    const passed = request({ ...options, headers: given.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    given.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  await using browser = await Chromium.start();
  const { port } = proxy.address() as AddressInfo;
  await browser.open(url.replace(/^http:\/\/[^/]+\//, `http://127.0.0.1:${port}/api/`));
  // Without the prefix, the proxy would pass the file on too.
  await browser.run("performance.clearResourceTimings()");
  await browser.run(choose("choose", "a.csv", "a,b\n", "text/csv"));
  await browser.waitFor(
    `${STATUS} === "The file has arrived. Return to the assistant, and say that the file is there if it does not go on by itself."`,
  );
  const sent = (await browser.run("performance.getEntriesByType('resource').map(({ name }) => name)")) as string[];
  expect(sent).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/api\/files\/[\w-]+\/a\.csv$/)]);
  expect((await lab.call("lines", { report: file }, "proxied")).text).toMatch(/^1 lines in a\.csv/);
  proxy.closeAllConnections();
  proxy.close();
});

test("the page has no barriers for users of assistive technology", async () => {
  const { url } = await lab.link("blind");
  await using browser = await Chromium.start();
  await browser.open(url);
  expect(await browser.findBarriers()).toEqual([]);
});
