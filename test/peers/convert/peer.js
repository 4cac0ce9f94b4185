// Reads ROS 1 bags and MCAP files with Foxglove's implementations and decodes all messages. Prints the number
// of decoded messages of each topic of each recording as JSON.
"use strict";

const { open } = require("node:fs/promises");
const path = require("node:path");

// The test installs modules into the working directory.
const load = require("node:module").createRequire(path.join(process.cwd(), "package.json"));
const { Bag } = load("@foxglove/rosbag");
const { FileReader } = load("@foxglove/rosbag/node");
const { parse } = load("@foxglove/rosmsg");
const { MessageReader: Reader1 } = load("@foxglove/rosmsg-serialization");
const { MessageReader: Reader2 } = load("@foxglove/rosmsg2-serialization");
const { McapIndexedReader } = load("@mcap/core");
const { FileHandleReadable } = load("@mcap/nodejs");
const { loadDecompressHandlers } = load("@mcap/support");

async function readBag(file, count) {
  const bag = new Bag(new FileReader(file), { parse: false });
  await bag.open();
  const readers = new Map([...bag.connections].map(([id, c]) => [id, new Reader1(parse(c.messageDefinition))]));
  for await (const m of bag.messageIterator()) {
    readers.get(m.connectionId).readMessage(m.data);
    count(m.topic);
  }
}

async function readMcap(file, count) {
  const handle = await open(file, "r");
  const mcap = await McapIndexedReader.Initialize({
    readable: new FileHandleReadable(handle),
    decompressHandlers: await loadDecompressHandlers(),
  });
  const text = new TextDecoder();
  const readers = new Map();
  for (const [id, c] of mcap.channelsById) {
    const schema = mcap.schemasById.get(c.schemaId);
    if (c.messageEncoding === "cdr") {
      readers.set(id, new Reader2(parse(text.decode(schema.data), { ros2: true })));
    } else if (c.messageEncoding === "ros1") {
      readers.set(id, new Reader1(parse(text.decode(schema.data))));
    }
  }
  for await (const m of mcap.readMessages()) {
    readers.get(m.channelId)?.readMessage(m.data);
    count(mcap.channelsById.get(m.channelId).topic);
  }
  await handle.close();
}

async function main(files) {
  const found = {};
  for (const file of files) {
    const counts = (found[file] = {});
    const count = (topic) => (counts[topic] = (counts[topic] ?? 0) + 1);
    await (file.endsWith(".bag") ? readBag : readMcap)(file, count);
  }
  console.log(JSON.stringify(found));
}

main(process.argv.slice(2)).catch((err) => {
  console.error(err);
  process.exit(1);
});
