/** The ladder: a table of requests and the endpoint's responses, as data. */

import { CALL_ROWS } from "./ladder-calls.ts";
import { HTTP_ROWS } from "./ladder-http.ts";
import { MESSAGE_ROWS } from "./ladder-messages.ts";
import type { Row } from "./ladder-row.ts";

export const LADDER: readonly Row[] = [...MESSAGE_ROWS, ...HTTP_ROWS, ...CALL_ROWS];
