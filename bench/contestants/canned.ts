/** What the floors answer: of the size of the real answers, made without a protocol. */
import LIST from "./canned-list.txt";

export function cannedAnswer(id: number | undefined, method: string): string {
  if (method === "tools/list") return `{"jsonrpc":"2.0","id":${id},"result":${LIST}}`;
  return `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"Oslo: 3 days of sun"}]}}`;
}
