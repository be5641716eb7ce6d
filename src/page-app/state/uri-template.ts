/**
 * URI templates (RFC 6570), as far as forms need them: the variables, and the URI for their values. Templates that the kit's own servers
 * would refuse are expanded too, as well as possible.
 *
 * @module
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;

/** The names in an expression, without the modifiers `*` and `:n`. */
function namesOf(list: string): string[] {
  return list.split(",").map((name) => name.replace(/(\*|:\d+)$/, ""));
}

/** Returns the names of the variables, in order, each once. */
export function variablesOf(template: string): readonly string[] {
  return [...new Set([...template.matchAll(EXPRESSION)].flatMap(([, , list = ""]) => namesOf(list)))];
}

/** Returns the URI for the values of the variables. Empty ones are left out. */
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

/** Encodes everything but the unreserved characters of RFC 3986. */
function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
