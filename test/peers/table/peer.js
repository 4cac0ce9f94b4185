// Prints as JSON the results of DuckDB for queries ("duckdb SQL...") or the contents of a Parquet file by hyparquet
// ("hyparquet FILE").
"use strict";

const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");
const path = require("node:path");

// The test installs modules into the working directory.
const modules = createRequire(path.join(process.cwd(), "package.json"));

async function duckdb(queries) {
  const { DuckDBInstance } = modules("@duckdb/node-api");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const results = [];
  for (const sql of queries) {
    const result = await connection.runAndReadAll(sql);
    results.push({ names: result.columnNames(), types: result.columnTypes().map(String), rows: result.getRowsJson() });
  }
  return results;
}

async function hyparquet(name) {
  const { parquetMetadata, parquetReadObjects } = await import(pathToFileURL(modules.resolve("hyparquet")));
  const { compressors } = await import(pathToFileURL(modules.resolve("hyparquet-compressors")));
  const content = readFileSync(name);
  const file = content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength);
  const metadata = parquetMetadata(file);
  return {
    groups: metadata.row_groups.map((g) => Number(g.num_rows)),
    keys: Object.fromEntries((metadata.key_value_metadata ?? []).map((m) => [m.key, m.value])),
    rows: await parquetReadObjects({ file, compressors }),
  };
}

const plain = (key, value) => {
  if (value instanceof Uint8Array) {
    return Buffer.from(value).toString("hex");
  }
  if (ArrayBuffer.isView(value)) {
    return Array.from(value);
  }
  return typeof value === "bigint" || typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
};

const [, , program, ...args] = process.argv;
(program === "duckdb" ? duckdb(args) : hyparquet(args[0])).then((result) => {
  process.stdout.write(JSON.stringify(result, plain));
});
