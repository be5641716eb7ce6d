/**
 * The globals that `core` may use: those that browsers, Node and Workers all have. Any other global fails to compile.
 * Only `check-types` reads this file; other programs have the full declarations of their runtime.
 */
interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
declare const AbortSignal: { any(signals: Iterable<AbortSignal>): AbortSignal };
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare function setTimeout(callback: () => void, ms: number): { readonly timer: unique symbol };
declare function clearTimeout(timer: ReturnType<typeof setTimeout> | undefined): void;
declare class URL {
  static canParse(text: string): boolean;
  constructor(text: string);
  readonly protocol: string;
  readonly host: string;
  readonly pathname: string;
  readonly hostname: string;
}
declare function queueMicrotask(callback: () => void): void;
declare const performance: { now(): number };
declare function btoa(binary: string): string;
declare function atob(base64: string): string;
declare class TextEncoder {
  encode(text: string): Uint8Array<ArrayBuffer>;
}
declare class TextDecoder {
  decode(bytes: Uint8Array): string;
}
/** Opaque here: values are only passed from one WebCrypto call to the next. */
interface CryptoKey {
  readonly type: string;
}
interface SubtleCrypto {
  digest(algorithm: string, data: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer>;
  importKey(
    format: "raw",
    key: Uint8Array,
    algorithm: string,
    extractable: boolean,
    usages: string[],
  ): Promise<CryptoKey>;
  deriveBits(algorithm: object, base: CryptoKey, bits: number): Promise<ArrayBuffer>;
  deriveKey(
    algorithm: object,
    base: CryptoKey,
    derived: object,
    extractable: boolean,
    usages: string[],
  ): Promise<CryptoKey>;
  encrypt(algorithm: object, key: CryptoKey, data: Uint8Array): Promise<ArrayBuffer>;
  decrypt(algorithm: object, key: CryptoKey, data: Uint8Array): Promise<ArrayBuffer>;
}
declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends Uint8Array>(bytes: T): T;
  readonly subtle: SubtleCrypto;
};
