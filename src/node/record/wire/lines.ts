/**
 * Reads newline-delimited JSON from a stream of bytes.
 *
 * @module
 */

/** The maximum size of a line, in bytes. Longer lines are not recorded. */
const LINE_BYTES_MAX = 4 * 1024 * 1024;

const LINE_FEED = 0x0a;

/** Returns a function that receives the bytes of a stream, and calls `take` for each line that is JSON. */
export function readLines(take: (json: unknown, characters: number) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let bytes = 0;
  return (chunk) => {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      const isTooLong = bytes + end > LINE_BYTES_MAX;
      const line = isTooLong ? EMPTY : Buffer.concat([...parts, rest.subarray(0, end)]);
      parts = [];
      bytes = 0;
      rest = rest.subarray(end + 1);
      const json = line.length === 0 ? undefined : parse(line.toString("utf8"));
      if (json !== undefined) take(json, line.length);
    }
    bytes += rest.length;
    if (bytes <= LINE_BYTES_MAX) parts.push(rest);
    else parts = [];
  };
}

const EMPTY = Buffer.alloc(0);

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The server wrote a log line to its standard output.
    return undefined;
  }
}
