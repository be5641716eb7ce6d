/**
 * The schema of an argument or result in an intermediate form, between the description and the code.
 *
 * @module
 */

/** A scalar value of a schema. */
export type Scalar = string | number | boolean | null;

/** A schema. */
export type Shape = (
  | { readonly kind: "string"; readonly min?: number | undefined; readonly max?: number | undefined }
  | {
      readonly kind: "number";
      readonly isInteger: boolean;
      readonly min?: number | undefined;
      readonly max?: number | undefined;
    }
  | { readonly kind: "boolean" | "unknown" }
  | { readonly kind: "values"; readonly values: readonly Scalar[] }
  | {
      readonly kind: "list";
      readonly items: Shape;
      readonly min?: number | undefined;
      readonly max?: number | undefined;
    }
  | { readonly kind: "object"; readonly members: readonly Member[]; readonly isOpen: boolean }
  | { readonly kind: "map"; readonly values: Shape }
  | { readonly kind: "any-of"; readonly options: readonly Shape[] }
) & {
  readonly text?: string | undefined;
  readonly isNullable?: boolean;
  /** The name of the schema in the description. */
  readonly title?: string | undefined;
};

/** A member of an object. */
export interface Member {
  readonly name: string;
  readonly shape: Shape;
  readonly isRequired: boolean;
}

/** Whether a shape is a scalar. */
export function isScalar({ kind }: Shape): boolean {
  return kind === "string" || kind === "number" || kind === "boolean" || kind === "values";
}

/** Whether a shape is a scalar or a list of scalars, which can be written into a URL. */
export function isPlain(shape: Shape): boolean {
  if (shape.kind === "any-of") return shape.options.every((each) => each.kind !== "any-of" && isPlain(each));
  return isScalar(shape) || (shape.kind === "list" && isScalar(shape.items));
}

/** Whether a shape is an object. */
export function isObject({ kind }: Shape): boolean {
  return kind === "object" || kind === "map";
}

/** Returns the JSON Schema that zod creates from the code of a shape. It is what clients receive. */
export function toJsonSchema(shape: Shape): object {
  const described = shape.text === undefined ? {} : { description: shape.text };
  const plain = plainSchema(shape);
  const whole = shape.isNullable ? nullable(plain) : plain;
  return { ...whole, ...described };
}

function nullable(plain: object): object {
  const { type, ...rest } = plain as { readonly type?: string };
  const isBare = type !== undefined && Object.keys(rest).length === 0;
  return isBare ? { type: [type, "null"] } : { anyOf: [plain, { type: "null" }] };
}

function plainSchema(shape: Shape): object {
  switch (shape.kind) {
    case "string":
      return { type: "string", ...pick({ minLength: shape.min, maxLength: shape.max }) };
    case "number": {
      const [low, high] = shape.isInteger ? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] : [];
      const bounds = pick({ minimum: shape.min ?? low, maximum: shape.max ?? high });
      return { type: shape.isInteger ? "integer" : "number", ...bounds };
    }
    case "boolean":
      return { type: "boolean" };
    case "unknown":
      return {};
    case "values":
      return shape.values.every((each) => typeof each === "string")
        ? { type: "string", enum: shape.values }
        : { enum: shape.values };
    case "list":
      return { type: "array", items: toJsonSchema(shape.items), ...pick({ minItems: shape.min, maxItems: shape.max }) };
    case "map":
      return { type: "object", propertyNames: { type: "string" }, additionalProperties: toJsonSchema(shape.values) };
    case "any-of":
      return { anyOf: shape.options.map(toJsonSchema) };
    case "object": {
      const required = shape.members.filter(({ isRequired }) => isRequired).map(({ name }) => name);
      return {
        type: "object",
        properties: Object.fromEntries(shape.members.map((member) => [member.name, toJsonSchema(member.shape)])),
        ...(required.length > 0 ? { required } : {}),
        ...(shape.isOpen ? { additionalProperties: {} } : {}),
      };
    }
  }
}

function pick(members: Readonly<Record<string, number | undefined>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Returns the size of a value as JSON, in bytes. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}
