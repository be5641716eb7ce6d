import { Argument, type Command } from "commander";
import { ROOMS, type Room } from "../mutate/rooms.ts";
import { number } from "./number.ts";

export function mutate(command: (name: string) => Command): void {
  command("mutate")
    .description("generates mutants of a room, runs the tests in this process for each, and lists those not noticed")
    .addArgument(new Argument("<room>", "the room").choices(Object.keys(ROOMS)))
    .option("--at-once <count>", "how many mutants are tried at the same time", number, 2)
    .action(run);
}

async function run(room: Room, { atOnce }: { readonly atOnce: number }): Promise<void> {
  const { mutateRoom } = await import("../mutate/mutate-room.ts");
  const { judged } = await import("../../test/mutants/judged.ts");
  const { tests, mutants, noticed, survivors } = await mutateRoom(room, atOnce);
  const fresh = survivors.filter((survivor) => !judged(survivor));
  for (const { place, mutator, original, replacement } of fresh) {
    console.log(`${place} ${mutator}\n    ${original}\n    ${replacement}`);
  }
  const share = ((100 * noticed) / mutants).toFixed(1);
  console.log(`${room}: ${noticed} of ${mutants} mutants are noticed (${share} %) by ${tests} test files.`);
  console.log(
    `${survivors.length - fresh.length} others were judged to change nothing that matters; ${fresh.length} were not.`,
  );
}
