/** The rooms whose tests run their code in Node, each with its files. */
export const ROOMS = {
  safe: "src/safe/**/*.ts",
  schema: "src/schema/**/*.ts",
  seal: "src/core/seal/**/*.ts",
  protocol: "src/core/protocol/**/*.ts",
  ask: "src/core/ask/**/*.ts",
  define: "src/core/define/**/*.ts",
  run: "src/core/run/**/*.ts",
  serve: "src/core/serve/**/*.ts",
  connection: "src/core/connection/**/*.ts",
  http: "src/http/**/*.ts",
  requests: "src/client/requests/**/*.ts",
  questions: "src/client/questions/**/*.ts",
  transports: "src/client/transports/**/*.ts",
  oauth: "src/client/oauth/**/*.ts",
} as const;

export type Room = keyof typeof ROOMS;
