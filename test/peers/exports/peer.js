// Reads calibrations, clouds and tracks in a folder with other projects' libraries. Prints their contents as JSON, by
// path.
"use strict";

const { readFileSync, readdirSync } = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");

// The test installs modules into the working directory.
const modules = createRequire(path.join(process.cwd(), "package.json"));
const { parse } = modules("@loaders.gl/core");
const { PCDLoader } = modules("@loaders.gl/pcd");
const { PLYLoader } = modules("@loaders.gl/ply");
const { DOMParser } = modules("@xmldom/xmldom");
const togeojson = modules("@tmcw/togeojson");
const yaml = modules("js-yaml");

// cloud returns a cloud as arrays by attribute.
const cloud = async (file, loader) => {
  const data = await parse(file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength), loader,
    { worker: false });
  return {
    fields: data.loaderData?.fields,
    ...Object.fromEntries(Object.entries(data.attributes).map(([name, a]) => [name, Array.from(a.value)])),
  };
};

const xml = (file) => new DOMParser().parseFromString(file.toString(), "text/xml");

const readers = {
  ".pcd": (file) => cloud(file, PCDLoader),
  ".ply": (file) => cloud(file, PLYLoader),
  ".gpx": (file) => togeojson.gpx(xml(file)),
  ".kml": (file) => togeojson.kml(xml(file)),
  ".yaml": (file) => yaml.load(file.toString()),
};

async function main(root) {
  const all = {};
  for (const entry of readdirSync(root, { recursive: true }).sort()) {
    const read = readers[path.extname(entry)];
    if (read) {
      all[entry] = await read(readFileSync(path.join(root, entry)));
    }
  }
  process.stdout.write(JSON.stringify(all));
}

main(process.argv[2]);
