/**
 * The part of URI templates (RFC 6570) that forms use: their variables and their expansion. Templates that mcp-edge servers would
 * reject are expanded on a best-effort basis.
 *
 * @module
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;

/** The names in an expression, without the modifiers `*` and `:n`. */
function namesOf(list: string): string[] {
  return list.split(",").map((name) => name.replace(/(\*|:\d+)$/, ""));
}

/** Returns the names of the variables, in order and without duplicates. */
export function variablesOf(template: string): readonly string[] {
  return [...new Set([...template.matchAll(EXPRESSION)].flatMap(([, , list = ""]) => namesOf(list)))];
}

/** Returns the URI for values of the variables. Empty values are omitted. */
export function expandTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(EXPRESSION, (_, operator: string, list: string) => {
    const isReserved = operator === "+" || operator === "#";
    const isNamed = operator === ";" || operator === "?" || operator === "&";
    const parts = namesOf(list)
      .filter((name) => values[name])
      .map((name) => {
        const value = values[name] ?? "";
        const text = isReserved ? encodeURI(value) : encodeStrictly(value);
        return isNamed ? `${name}=${text}` : text;
      });
    if (parts.length === 0) return "";
    const first = operator === "+" ? "" : operator;
    const separator = operator === "" || isReserved ? "," : operator === "?" ? "&" : operator;
    return first + parts.join(separator);
  });
}

/** Percent-encodes everything except the unreserved characters of RFC 3986. */
function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
