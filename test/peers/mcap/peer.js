// Reads an MCAP file with Foxglove's implementation twice, by its index and as a stream. Prints its contents as JSON.
"use strict";

const { open, readFile } = require("node:fs/promises");
const { createHash } = require("node:crypto");
const { createRequire } = require("node:module");
const path = require("node:path");

// The test installs modules into the working directory.
const load = createRequire(path.join(process.cwd(), "package.json"));
const { McapIndexedReader, McapStreamReader } = load("@mcap/core");
const { FileHandleReadable } = load("@mcap/nodejs");
const { loadDecompressHandlers } = load("@mcap/support");

// line returns a text of a message.
const line = (m) => `${m.channelId} ${m.logTime} ${m.publishTime} ${createHash("sha256").update(m.data).digest("hex")}`;

async function main(file) {
  const decompressHandlers = await loadDecompressHandlers();
  const handle = await open(file, "r");
  const indexed = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers });
  const messages = [];
  for await (const m of indexed.readMessages()) {
    messages.push(line(m));
  }
  const metadata = [];
  for await (const m of indexed.readMetadata()) {
    metadata.push({ name: m.name, values: Object.fromEntries(m.metadata) });
  }
  const attachments = [];
  for await (const a of indexed.readAttachments()) {
    attachments.push({
      name: a.name,
      mediaType: a.mediaType,
      logTime: String(a.logTime),
      createTime: String(a.createTime),
      data: Buffer.from(a.data).toString("base64"),
    });
  }
  await handle.close();

  const stream = new McapStreamReader({ decompressHandlers, validateCrcs: true });
  stream.append(await readFile(file));
  const streamed = [];
  for (let record; (record = stream.nextRecord()); ) {
    if (record.type === "Message") {
      streamed.push(line(record));
    }
  }
  const statistics = indexed.statistics;
  console.log(
    JSON.stringify({
      profile: indexed.header.profile,
      library: indexed.header.library,
      done: stream.done(),
      channels: [...indexed.channelsById.values()].map((c) => ({
        id: c.id,
        topic: c.topic,
        encoding: c.messageEncoding,
        metadata: Object.fromEntries(c.metadata),
        type: indexed.schemasById.get(c.schemaId)?.name ?? "",
        schemaEncoding: indexed.schemasById.get(c.schemaId)?.encoding ?? "",
        schema: Buffer.from(indexed.schemasById.get(c.schemaId)?.data ?? []).toString(),
      })),
      count: Number(statistics?.messageCount ?? messages.length),
      chunks: indexed.chunkIndexes.length,
      start: String(statistics?.messageStartTime ?? 0),
      end: String(statistics?.messageEndTime ?? 0),
      metadata,
      attachments,
      messages,
      streamed,
    }),
  );
}

main(process.argv[2]).catch((err) => {
  console.error(err);
  process.exit(1);
});
