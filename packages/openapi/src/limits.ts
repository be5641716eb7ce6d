/**
 * The limits of what is read from a description and of what is written.
 *
 * @module
 */

/** The maximum size of a description, in characters. The largest public ones have about 40 million. */
export const TEXT_CHARS_MAX = 64_000_000;
/** The maximum depth of values in a description. */
export const DEPTH_MAX = 200;
/** The maximum number of values in a description, after the aliases of YAML were expanded. */
export const VALUES_MAX = 6_000_000;
/** The maximum number of aliases that a YAML document may expand. */
export const ALIASES_MAX = 1_000;
/** The maximum number of references that are followed in a row. */
export const REFERENCES_MAX = 50;
/** The maximum number of operations that are read. */
export const OPERATIONS_MAX = 5_000;
/** The maximum length of a path, in characters. */
export const PATH_CHARS_MAX = 500;
/** The maximum length of a tag, in characters. Longer ones are cut. */
export const TAG_CHARS_MAX = 200;
/** The maximum number of tags of an operation. */
export const TAGS_MAX = 20;
/** The maximum number of arguments of a tool. */
export const ARGUMENTS_MAX = 60;
/** The maximum number of members of an object in a schema. */
export const MEMBERS_MAX = 100;
/** The maximum number of alternatives in a schema. */
export const ALTERNATIVES_MAX = 6;
/** The maximum length of a string that a schema demands, in characters. A higher minimum is left to the API. */
export const LENGTH_MAX = 500;
/** The maximum number of items of a list that a schema demands. A higher minimum is left to the API. */
export const ITEMS_MAX = 20;
/** The maximum number of values of an example in the tests. */
export const EXAMPLE_VALUES_MAX = 500;
/** The maximum number of values of an enumeration. Longer enumerations are only described. */
export const ENUM_MAX = 60;
/** The maximum number of schemas that are converted for one tool. Objects beyond this limit accept any members. */
export const CONVERSIONS_MAX = 5_000;
/** The maximum size of the output schema of a tool, in bytes of JSON. Tools with a larger one return text only. */
export const OUTPUT_BYTES_MAX = 1_024;
/** The maximum length of the description of a tool, in characters. */
export const TOOL_TEXT_MAX = 1_000;
/** The maximum length of the description of a member of an argument, in characters. An argument itself can have twice as many. */
export const MEMBER_TEXT_MAX = 150;
/** The maximum length of the name of a tool. Hosts combine it with the name of the server. */
export const NAME_CHARS_MAX = 48;
