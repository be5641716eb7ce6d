/** The actions of `tasks`. */
export type TaskAction = "list" | "get" | "result" | "cancel";
