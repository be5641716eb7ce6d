/**
 * Parses formulas of x, such as "2x sin(x^2)". It does not use `eval`, because formulas come from a model or a user. The server and the
 * view use the same parser.
 */

/** Returns the value of a formula at x: NaN or infinite where the formula is undefined. */
export type Curve = (x: number) => number;

export const FORMULA_MAX = 200;

/** Thrown for an invalid formula. The message says what is wrong and where. */
export class FormulaError extends Error {}

const CONSTANTS = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
]);

/** A Map, so that a name cannot access members that every object inherits. */
const FUNCTIONS = new Map<string, (value: number) => number>(
  [
    ...[Math.sin, Math.cos, Math.tan, Math.asin, Math.acos, Math.atan, Math.sinh, Math.cosh, Math.tanh],
    ...[Math.sqrt, Math.cbrt, Math.abs, Math.exp, Math.floor, Math.ceil, Math.round, Math.sign],
  ].map((each) => [each.name, each]),
);
FUNCTIONS.set("ln", Math.log).set("log", Math.log10);

/** Parses a formula. @throws {FormulaError} if it is invalid. */
export function parseFormula(text: string): Curve {
  if (text.length > FORMULA_MAX) throw new FormulaError(`A formula has at most ${FORMULA_MAX} characters.`);
  return new Parser(text).parse();
}

type Token = { readonly text: string; readonly at: number };

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = split(text);
  }

  parse(): Curve {
    if (this.#tokens.length === 0) throw new FormulaError("The formula is empty. For example, write: sin(x)");
    const curve = this.#sum();
    const rest = this.#tokens[this.#next];
    if (rest) throw new FormulaError(`"${rest.text}" at ${rest.at} is not expected there.`);
    return curve;
  }

  #take(...texts: readonly string[]): string | undefined {
    const text = this.#tokens[this.#next]?.text;
    if (text === undefined || !texts.includes(text)) return undefined;
    this.#next += 1;
    return text;
  }

  #sum(): Curve {
    let left = this.#product();
    for (;;) {
      const sign = this.#take("+", "-");
      if (sign === undefined) return left;
      const [one, other] = [left, this.#product()];
      left = sign === "+" ? (x) => one(x) + other(x) : (x) => one(x) - other(x);
    }
  }

  #product(): Curve {
    let left = this.#signed();
    for (;;) {
      const sign = this.#take("*", "/");
      // Factors without an operator between them are multiplied, as in "2x".
      if (sign === undefined && !/^[\w.(]/.test(this.#tokens[this.#next]?.text ?? "")) return left;
      const [one, other] = [left, this.#signed()];
      left = sign === "/" ? (x) => one(x) / other(x) : (x) => one(x) * other(x);
    }
  }

  /** A sign has lower precedence than a power: -x^2 is -(x^2). */
  #signed(): Curve {
    const sign = this.#take("+", "-");
    if (sign === undefined) return this.#power();
    const value = this.#signed();
    return sign === "-" ? (x) => -value(x) : value;
  }

  #power(): Curve {
    const base = this.#atom();
    if (this.#take("^") === undefined) return base;
    // Powers are right-associative: 2^3^2 is 2^(3^2).
    const exponent = this.#signed();
    return (x) => base(x) ** exponent(x);
  }

  #atom(): Curve {
    const token = this.#tokens[this.#next];
    if (!token) throw new FormulaError("The formula is incomplete.");
    const { text, at } = token;
    this.#next += 1;
    if (/^[\d.]/.test(text)) return constant(Number(text), text, at);
    if (text === "(") return this.#closed(at);
    if (text === "x") return (x) => x;
    const value = CONSTANTS.get(text);
    if (value !== undefined) return () => value;
    const call = FUNCTIONS.get(text);
    if (call) {
      const open = this.#tokens[this.#next];
      if (this.#take("(") === undefined) throw new FormulaError(`Write a parenthesis after ${text}: ${text}(x)`);
      const argument = this.#closed(open?.at ?? at);
      return (x) => call(argument(x));
    }
    if (/^\w/.test(text)) throw new FormulaError(`"${text}" at ${at} is unknown. ${KNOWN}`);
    throw new FormulaError(`"${text}" at ${at} is not expected there.`);
  }

  /** Parses up to the closing parenthesis. */
  #closed(at: number): Curve {
    const inner = this.#sum();
    if (this.#take(")") === undefined) throw new FormulaError(`The parenthesis at ${at} is not closed.`);
    return inner;
  }
}

const KNOWN = `Supported names: x, ${[...CONSTANTS.keys(), ...FUNCTIONS.keys()].join(", ")}.`;

function constant(value: number, text: string, at: number): Curve {
  if (!Number.isFinite(value)) throw new FormulaError(`"${text}" at ${at} is not a number.`);
  return () => value;
}

/** Splits a formula into numbers, names and operators. Positions start at 1. */
function split(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /\s*(?:([\d.]+(?:e[+-]?\d+)?|[a-z]+\d*|[-+*/^()])|(\S))/giy;
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    const [whole, known, unknown] = found;
    const at = found.index + whole.length - (known ?? unknown ?? "").length + 1;
    if (known === undefined) throw new FormulaError(`"${unknown}" at ${at} is not expected there.`);
    tokens.push({ text: known.toLowerCase(), at });
  }
  return tokens;
}
