/** The answers of the floors. They have the size of real answers and involve no protocol code. */
import LIST from "./canned-list.txt";

export function cannedAnswer(id: number | undefined, method: string): string {
  if (method === "tools/list") return `{"jsonrpc":"2.0","id":${id},"result":${LIST}}`;
  return `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"Oslo: 3 days of sun"}]}}`;
}
