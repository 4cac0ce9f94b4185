// Reads a bag with Foxglove's implementation and prints its contents as JSON. Each line of standard input describes the
// ROS 2 message that a message of the bag became: a JSON object {message (as printed), definition, payload (base64)}.
// Both messages are decoded with Foxglove's serialisations; differences are printed, too.
"use strict";

const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");
const path = require("node:path");

// The test installs modules into the working directory.
const load = require("node:module").createRequire(path.join(process.cwd(), "package.json"));
const { Bag } = load("@foxglove/rosbag");
const { FileReader } = load("@foxglove/rosbag/node");
const { parse } = load("@foxglove/rosmsg");
const { MessageReader: Reader1 } = load("@foxglove/rosmsg-serialization");
const { MessageReader: Reader2 } = load("@foxglove/rosmsg2-serialization");
const lz4 = load("@foxglove/wasm-lz4");
const Bzip2 = load("@foxglove/wasm-bz2");

// plain returns a value whose JSON can be compared: with the names of ROS 2, without the sequence numbers of headers.
function plain(v) {
  if (typeof v === "bigint" || typeof v === "number") {
    return String(v);
  }
  if (v === null || typeof v !== "object") {
    return v;
  }
  if (Array.isArray(v) || ArrayBuffer.isView(v)) {
    return Array.from(v, plain);
  }
  const out = {};
  const isHeader = "seq" in v && "stamp" in v && "frame_id" in v;
  for (const [name, value] of Object.entries(v)) {
    if (!(isHeader && name === "seq")) {
      out[name === "nsec" ? "nanosec" : name.toLowerCase()] = plain(value);
    }
  }
  return out;
}

// reader returns the decoder of a definition.
const readers = new Map();
function reader(kind, definition) {
  const key = (kind === Reader2 ? "2" : "1") + definition;
  if (!readers.has(key)) {
    readers.set(key, new kind(parse(definition, { ros2: kind === Reader2 })));
  }
  return readers.get(key);
}

async function main(file) {
  await lz4.isLoaded;
  const bzip2 = await Bzip2.init();
  const bag = new Bag(new FileReader(file), {
    parse: false,
    decompress: {
      lz4: (data, size) => lz4(data, size),
      bz2: (data, size) => bzip2.decompress(data, size, { small: false }),
    },
  });
  await bag.open();
  const translated = new Map();
  for (const line of readFileSync(0, "utf8").split("\n")) {
    if (line !== "") {
      const t = JSON.parse(line);
      translated.set(t.message, t);
    }
  }
  const messages = [];
  const different = [];
  for await (const m of bag.messageIterator()) {
    const { type, messageDefinition } = bag.connections.get(m.connectionId);
    const time = BigInt(m.timestamp.sec) * 1000000000n + BigInt(m.timestamp.nsec);
    const message = `${m.topic} ${type} ${time} ${createHash("sha256").update(m.data).digest("hex")}`;
    messages.push(message);
    const { definition, payload } = translated.get(message);
    const one = JSON.stringify(plain(reader(Reader1, messageDefinition).readMessage(m.data)));
    const two = JSON.stringify(plain(reader(Reader2, definition).readMessage(Buffer.from(payload, "base64"))));
    if (one !== two) {
      different.push(`${m.topic} ${type}: ${one} became ${two}`);
    }
  }
  console.log(
    JSON.stringify({
      messages,
      different,
      connections: [...bag.connections.values()].map((c) => ({
        topic: c.topic,
        type: c.type,
        md5sum: c.md5sum,
        message_definition: c.messageDefinition,
        ...(c.callerid === undefined ? {} : { callerid: c.callerid }),
        ...(c.latching === undefined ? {} : { latching: c.latching ? "1" : "0" }),
      })),
    }),
  );
}

main(process.argv[2]).catch((err) => {
  console.error(err);
  process.exit(1);
});
