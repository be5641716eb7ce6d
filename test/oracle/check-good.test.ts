import { describe, expect, test } from "vitest";
import { checkMessage } from "./check.ts";
import { VERSIONS } from "./methods.ts";
import { SAMPLES } from "./samples.ts";

for (const version of VERSIONS) {
  describe(`checkMessage() in ${version} accepts`, () => {
    for (const { name, message, about } of SAMPLES.filter((sample) => sample.about.version === version)) {
      test(`${name} of the ${about.from}`, () => {
        expect(checkMessage(message, about)).toEqual([]);
      });
    }
  });
}
