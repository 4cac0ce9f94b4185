// Reads all tables of a dataset of LeRobot with hyparquet, and prints their contents as JSON.
"use strict";

const { readFileSync, readdirSync } = require("node:fs");
const { createHash } = require("node:crypto");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");
const path = require("node:path");

// The test installs modules into the working directory.
const modules = createRequire(path.join(process.cwd(), "package.json"));

// plain is a replacer for JSON.stringify: TIFFs become base64, and other bytes become their SHA-256 sum.
const plain = (key, value) => {
  if (value instanceof Uint8Array && value[0] === 0x49 && value[1] === 0x49 && value[2] === 42) { // a TIFF
    return Buffer.from(value).toString("base64");
  }
  if (value instanceof Uint8Array) {
    return createHash("sha256").update(value).digest("hex");
  }
  return typeof value === "bigint" ? Number(value) : value;
};

async function main(root) {
  const { parquetMetadata, parquetReadObjects } = await import(pathToFileURL(modules.resolve("hyparquet")));
  const tables = {};
  for (const entry of readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".parquet")).sort()) {
    const content = readFileSync(path.join(root, entry));
    const file = content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength);
    const metadata = parquetMetadata(file);
    tables[entry] = {
      groups: metadata.row_groups.map((g) => Number(g.num_rows)),
      keys: Object.fromEntries((metadata.key_value_metadata ?? []).map((m) => [m.key, m.value])),
      rows: await parquetReadObjects({ file, utf8: false }),
    };
  }
  process.stdout.write(JSON.stringify(tables, plain));
}

main(process.argv[2]);
