// @module-tag long
/** Calling tools, prompts and resources with the page of `mcp-edge dev`, in both eras. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { OpenedPage } from "./opened-page.ts";

let page: OpenedPage;
beforeAll(async () => {
  page = await OpenedPage.start("src/reference/index.ts");
}, 300_000);
afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
});
afterEach(() => {
  expect(page.problems).toEqual([]);
});

const CALL = "form.schema button.main";

describe.each(["2026-07-28", "2025-11-25"])("in %s", (version) => {
  const open = (hash: string, more: object = {}) => page.open(hash, { version, ...more });

  test("lists the tools, calls one, and shows its result", async () => {
    await open("#/tool/add");
    await page.sees(version, ".top");
    await page.sees("Adds two numbers");
    await page.fill("a", "2");
    await page.fill("b", "40");
    await page.press("Call", CALL);
    await page.sees("Done", ".call");
    await page.sees('{"sum":42}', ".model");
    await page.sees("sum: 42", ".sides");
  });

  test("reports missing values before it sends the form, and can send it anyway", async () => {
    await open("#/tool/add");
    await page.press("Call", CALL);
    await page.sees("2 values do not fit the schema.");
    await page.sees("Required.", ".field");
    await page.browser.waitFor("document.activeElement.id === 'tool_add-a'");
    await page.press("Send anyway");
    await page.sees("The tool failed", ".call");
  });

  test("accepts arguments as JSON, and shows the arguments to send", async () => {
    await open("#/tool/add");
    await page.press("JSON", ".switch button");
    await page.fill("Arguments as JSON", '{ "a": 1, "b": 1.5 }');
    await page.press("Arguments to send");
    await page.sees("b: 1.5", ".aside");
    await page.press("Call", CALL);
    await page.sees('{"sum":2.5}', ".model");
    await page.press("Form", ".switch button");
    expect(await page.browser.run("document.querySelector('#tool_add-b').value")).toBe("1.5");
  });

  test("answers a question during a call, in a form with the question's titles and defaults", async () => {
    await open("#/tool/book_table");
    await page.press("Call", CALL);
    await page.sees("A table at Trattoria Faggio for how many?", ".asked");
    await page.sees("1 to answer", ".top");
    await page.fill("Guests", "4");
    await page.fill("Seating", "On the terrace");
    await page.press("Answer", ".asked button");
    await page.sees("A table for 4 at Trattoria Faggio, on the terrace.", ".call");
    await page.press("Call", CALL);
    await page.press("Decline", ".asked button");
    await page.sees("No table was booked.", ".call");
  });

  test("shows the host of a page before opening it", async () => {
    await open("#/tool/link_account");
    await page.press("Call", CALL);
    await page.sees("example.com", ".asked .host");
    expect(await page.browser.run("document.querySelector('.asked a').rel")).toBe("noopener noreferrer");
    await page.press("Decline", ".asked button");
    await page.sees("The account was not linked.", ".call");
  });

  test("lets the user answer a sampling request", async () => {
    await open("#/tool/name_a_boat");
    await page.fill("colour", "red");
    await page.press("Call", CALL);
    await page.sees("Suggest one name for a red boat.", ".asked");
    await page.fill("Model response", "Ruby");
    await page.press("Send", ".asked button");
    await page.sees("The boat is called Ruby.", ".call");
  });

  test("shows progress and log messages while a call runs, and cancels it", async () => {
    await open("#/tool/roast_coffee");
    await page.fill("seconds", "60");
    await page.press("Call", CALL);
    await page.sees("Heating the drum", ".progress");
    await page.press("Log messages", ".call summary");
    await page.sees("roaster Heating the drum", ".logs");
    await page.press("Cancel", ".call button");
    await page.sees("Cancelled", ".call");
  });

  test("follows a task, and shows its result", async () => {
    await open("#/tool/write_report");
    await page.fill("pages", "1");
    if (version === "2025-11-25") await page.fill("In the background, as a task", true);
    await page.press("Call", CALL);
    await page.sees("A report of 1 pages.", ".call");
    await page.show("#/tasks");
    await page.sees("Completed", ".call");
    await page.press("Result", ".call button");
    await page.sees("A report of 1 pages.", ".call");
  });

  test("runs a call once, no matter how many times the same key is sent", async () => {
    await open("#/tool/pay_invoice");
    const pay = async () => {
      await page.press("Call", CALL);
    };
    await pay();
    await page.sees("receipt:", ".sides");
    await page.fill("With the last idempotency key", true);
    await pay();
    const receipts = () => page.texts(".model pre");
    await page.press("Result", ".call summary");
    await expect.poll(receipts, { timeout: 15_000 }).toHaveLength(2);
    const [second, first] = await receipts();
    expect(second).toBe(first);
  });

  test("shows the text of a failed tool, as users and as models see it", async () => {
    await open("#/tool/ship_parcel");
    await page.fill("city", "Basel");
    await page.press("Call", CALL);
    await page.sees("The tool failed", ".call");
    await page.sees("Ship 2 parcels instead.", ".block");
    await page.sees("Ship 2 parcels instead.", ".model");
  });

  test("asks for confirmation before a destructive call, with its arguments, until the user disables it for the tool", async () => {
    await open("#/tool/reset_visitors");
    await page.press("Call", CALL);
    await page.sees("This tool may delete or overwrite something.", "dialog");
    await page.press("Cancel", "dialog button");
    expect(await page.texts(".call")).toEqual([]);
    await page.press("Call", CALL);
    await page.fill("Do not ask again for this tool", true);
    await page.press("Call", "dialog button");
    await page.sees("No visitors.", ".call");
    await page.press("Call", CALL);
    await expect.poll(() => page.texts(".call"), { timeout: 15_000 }).toHaveLength(2);
  });

  test("reads a resource, subscribes to it, and reads it again when it changes", async () => {
    await open("#/resource/tour%3A%2F%2Fvisitors");
    await page.sees("visits:", ".call");
    await page.press("Subscribe", ".actions button");
    await page.sees("Subscribed, 0 changes");
    await page.show("#/tool/count_visitor");
    await page.press("Call", CALL);
    await page.sees("tour://visitors", ".call a");
    await page.press("visitors", ".call a");
    await page.sees("Subscribed, 1 change");
  });

  test("suggests values for a prompt and for a template", async () => {
    await open("#/prompt/explain-code");
    await page.fill("code", "a + b");
    await page.typeInto("language", "ty");
    await page.press("typescript", "button.tag");
    await page.press("Get messages", CALL);
    await page.sees("Explain how this typescript code works", ".message");
    await page.show(`#/template/${encodeURIComponent("test://template/{id}/data")}`);
    await page.typeInto("id", "12");
    await page.press("123", "button.tag");
    await page.press("Read", CALL);
    await page.sees("Data for ID: 123", ".call");
  });

  test("shows images, sounds, resources and links of a result", async () => {
    await open("#/tool/test_multiple_content_types");
    await page.press("Call", CALL);
    await page.press("Call", "dialog button");
    await page.sees("Multiple content types test:", ".block");
    expect(await page.browser.run("document.querySelector('.block img').naturalWidth")).toBe(1);
    await page.sees("test://mixed-content-resource", ".contents");
    await page.show("#/tool/test_audio_content");
    await page.press("Call", CALL);
    await page.press("Call", "dialog button");
    await page.browser.waitFor("document.querySelector('.block audio')?.src.startsWith('data:audio/wav;base64,')");
  });

  test("declares only the selected capabilities", async () => {
    const can = { form: true, url: true, sampling: false, roots: true, tasks: true, views: true };
    await open("#/tool/test_input_required_result_capabilities", { can });
    await page.press("Call", CALL);
    await page.press("Call", "dialog button");
    await page.sees("What is your name?", ".asked");
    expect(await page.texts(".asked")).toHaveLength(1);
    await page.fill("Name", "Ada");
    await page.press("Answer", ".asked button");
    await page.sees("Everything asked was answered.", ".call");
  });
});

test("changes the protocol version, and reconnects", async () => {
  await page.open("#/settings", {});
  await page.sees("2026-07-28", ".top");
  await page.fill("Protocol version", "2025-03-26 (legacy)");
  await page.sees("2025-03-26", ".top");
  await page.sees("Connected with 2025-03-26");
});

test("a broken stream is resumed, and no messages are lost", async () => {
  await page.open("#/tool/tell_a_story", { version: "2025-11-25" });
  await page.press("Call", CALL);
  await page.sees("and they resumed happily ever after.", ".call");
  await page.press("Log messages (2)", ".call summary");
  await page.sees("the connection was lost,", ".logs");
});

/** Waits until the view of `roll_dice` shows the result of its call. */
async function seesThreeDice(): Promise<void> {
  const faces = () =>
    page.browser.runInFrame("document.getElementById('faces').getAttribute('aria-label')").catch(() => null);
  await expect.poll(faces).toMatch(/^[1-6], [1-6], [1-6]$/);
}

test("shows a view in a frame, sends it the call, and lets it call tools and update the model context", async () => {
  await page.open("#/tool/roll_dice");
  await page.fill("dice", "3");
  await page.press("Call", CALL);
  await page.browser.waitFor("document.querySelector('iframe') !== null");
  await seesThreeDice();
  await page.browser.runInFrame("document.getElementById('again').click()");
  await page.press("View activity", "summary");
  await page.sees("called roll_dice", ".view");
  expect(await page.browser.runInFrame("self.origin")).toBe("null");
  expect(await page.browser.run("document.querySelector('iframe').getBoundingClientRect().height < 150")).toBe(true);
});

test("shows a view whose frame is ready before a slow page has been painted", async () => {
  await page.open("#/tool/roll_dice");
  await page.fill("dice", "3");
  await page.browser.run(`
    globalThis.usual = { setTimeout, requestAnimationFrame };
    globalThis.setTimeout = (work, ms = 0) => usual.setTimeout.call(globalThis, work, ms + 2_000);
    globalThis.requestAnimationFrame = (work) => setTimeout(work);
    undefined`);
  await page.press("Call", CALL);
  await seesThreeDice();
  await page.browser.run("Object.assign(globalThis, usual); undefined");
});

test("collapses groups, and the search finds their items", async () => {
  await page.open("");
  const tools = () => page.texts(".sidebar section:first-of-type li a");
  await page.sees("Official suite 42", ".sidebar");
  expect(await tools()).toContain("An error that helps");
  expect(await tools()).not.toContain("get_weather");
  await page.browser.run("document.querySelector('#search').focus()");
  await page.fillSelector("#search", "weather");
  await expect.poll(tools, { timeout: 15_000 }).toEqual(["get_weather"]);
});
