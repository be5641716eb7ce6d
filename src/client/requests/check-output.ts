import type { StandardSchema } from "../../core/protocol/schema.ts";
import { invalidAnswer } from "../basics/errors.ts";
import type { CallToolResult } from "./results.ts";

/** Validates the structured content of a result. Loaded on demand. @throws {ClientError} `answer-invalid` with the path. */
export async function checkOutput(result: CallToolResult, schema: StandardSchema): Promise<CallToolResult> {
  if (result.isError) return result;
  const checked = await schema["~standard"].validate(result.structuredContent);
  if (!checked.issues) return { ...result, structuredContent: checked.value as CallToolResult["structuredContent"] };
  const [issue] = checked.issues;
  const path = issue?.path?.map((part) => String(typeof part === "object" ? part.key : part)).join("/") ?? "";
  throw invalidAnswer(
    "tools/call",
    `structuredContent${path && `/${path}`} does not match the option output: ${issue?.message}`,
  );
}
