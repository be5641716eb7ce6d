/** Tests files on workerd: the upload of a file, the tool that reads it, and the file that the tool returns. */
import { connect } from "mcp-edge/client";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ wrangler: "wrangler.toml" });
});
afterAll(() => worker?.stop());

test("sort_report takes an uploaded file and returns a link to another one", async () => {
  const client = await connect(worker.url("/mcp"), { name: "test", version: "1.0.0" });
  const { structuredContent } = await client.callTool("create_upload", {});
  const { file, url } = structuredContent as { file: string; url: string };
  const uploaded = await fetch(`${url}report.csv`, { method: "PUT", body: "name,price\nb,2\na,1\n" });
  expect(uploaded.status).toBe(201);

  const { content } = await client.callTool("sort_report", { report: file });
  const [link] = content;
  expect(link).toMatchObject({ type: "resource_link", name: "sorted report.csv", mimeType: "text/csv" });
  const returned = await fetch(link?.type === "resource_link" ? link.uri : "");
  expect(await returned.text()).toBe("name,price\na,1\nb,2\n");
  await client.close();
});
