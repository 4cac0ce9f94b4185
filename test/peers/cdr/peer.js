// Decodes and encodes payloads with Foxglove's rosmsg2-serialization. Each line of standard input is one JSON object
// {definition, payload (base64)}; each line of standard output {value, payload} or {error}. Numbers in value
// are the hexadecimal digits of the double, big integers decimal digits, so that nothing is lost.
const path = require("path");
const readline = require("readline");
const load = require("module").createRequire(path.join(process.cwd(), "package.json"));
const { parse } = load("@foxglove/rosmsg");
const { MessageReader, MessageWriter } = load("@foxglove/rosmsg2-serialization");

const bits = new DataView(new ArrayBuffer(8));

function plain(v) {
  switch (typeof v) {
    case "number":
      bits.setFloat64(0, v);
      return Number.isNaN(v) ? "NaN" : bits.getBigUint64(0).toString(16).padStart(16, "0");
    case "bigint":
      return v.toString();
    case "object":
      return Array.isArray(v) || ArrayBuffer.isView(v)
        ? Array.from(v, plain)
        : Object.fromEntries(Object.entries(v).map(([name, value]) => [name, plain(value)]));
  }
  return v;
}

function answer(line) {
  const { definition, payload } = JSON.parse(line);
  const definitions = parse(definition, { ros2: true });
  const message = new MessageReader(definitions).readMessage(Buffer.from(payload, "base64"));
  const again = new MessageWriter(definitions).writeMessage(message);
  return { value: plain(message), payload: Buffer.from(again).toString("base64") };
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  let out;
  try {
    out = answer(line);
  } catch (error) {
    out = { error: String(error.stack) };
  }
  process.stdout.write(JSON.stringify(out) + "\n");
});
