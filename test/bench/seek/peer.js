// Opens an MCAP file with Foxglove's implementation and seeks in it at random, a given number of times. Prints as JSON
// how many ms opening took, and how many ms each seek took until the first message.
"use strict";

const { open } = require("node:fs/promises");
const { createRequire } = require("node:module");
const path = require("node:path");

// The working directory has the modules of test/peers/mcap/package.json.
const load = createRequire(path.join(process.cwd(), "package.json"));
const { McapIndexedReader } = load("@mcap/core");
const { FileHandleReadable } = load("@mcap/nodejs");
const { loadDecompressHandlers } = load("@mcap/support");

async function main(file, seeks) {
  const decompressHandlers = await loadDecompressHandlers();
  const handle = await open(file, "r");
  let began = performance.now();
  const reader = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers });
  const opened = performance.now() - began;
  const { messageStartTime: start, messageEndTime: end } = reader.statistics;
  const times = [];
  for (let i = 0; i < seeks; i++) {
    const startTime = start + BigInt(Math.floor(Math.random() * Number(end - start)));
    began = performance.now();
    for await (const m of reader.readMessages({ startTime })) {
      times.push(performance.now() - began);
      if (m.logTime < startTime) {
        throw new Error(`a message of ${m.logTime} after a seek to ${startTime}`);
      }
      break;
    }
  }
  await handle.close();
  console.log(JSON.stringify({ opened, times }));
}

main(process.argv[2], Number(process.argv[3])).catch((error) => {
  console.error(error);
  process.exit(1);
});
