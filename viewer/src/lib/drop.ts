// Files dropped on the page: the tables of a results folder, read in the browser. Congestion trees are not among them: those
// are computed by `backwater view`.
import { decompress } from "fzstd";
import { parquetRead } from "hyparquet";
import type { Packed } from "./format";
import { build, NEEDED, type Table, TABLES } from "./tables";

/** Larger files are not read: a browser has no room for them. */
const MOST_BYTES = 60e6;

/** The run in the dropped files. Throws an Error that says what is missing. */
export async function dropped(transfer: DataTransfer | null): Promise<Packed> {
  // Entries are gone after the first wait.
  const entries = [...(transfer?.items ?? [])].map((item) => item.webkitGetAsEntry?.() ?? null);
  const loose = [...(transfer?.files ?? [])];
  const inFolders = (await Promise.all(entries.map((entry) => (entry?.isDirectory ? filesOf(entry) : [])))).flat();
  return read([...loose.filter((file) => /\.(json|parquet)$/.test(file.name)), ...inFolders]);
}

/** The files of a folder, without those in folders below it. */
async function filesOf(entry: FileSystemEntry): Promise<File[]> {
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: File[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return found;
    const files = some.filter((inner) => inner.isFile) as FileSystemFileEntry[];
    found.push(...(await Promise.all(files.map((file) => new Promise<File>((done, fail) => file.file(done, fail))))));
  }
}

/** The run in these files of a results folder. */
export async function read(files: File[]): Promise<Packed> {
  const named = new Map(files.map((file) => [file.name, file]));
  const meta = named.get("run.json");
  const absent = [...(meta ? [] : ["run.json"]), ...NEEDED.map((name) => `${name}.parquet`).filter((name) => !named.has(name))];
  if (!meta || absent.length) {
    throw new Error(`drop a results folder, or its files: ${absent.join(" and ")} ${absent.length > 1 ? "are" : "is"} not among them`);
  }
  const tables: Record<string, Table> = {};
  const notes: string[] = [];
  for (const [name, columns] of Object.entries(TABLES)) {
    const file = named.get(`${name}.parquet`);
    if (!file) continue;
    if (file.size > MOST_BYTES) notes.push(`${file.name} is too large for the page; backwater view reads it`);
    else tables[name] = await table(file, columns);
  }
  return build(parsed(await meta.text()), tables, notes);
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("run.json is damaged");
  }
}

async function table(file: File, columns: string[]): Promise<Table> {
  const found: Table = { rows: 0, columns: Object.fromEntries(columns.map((name) => [name, []])) };
  try {
    await parquetRead({
      file: await file.arrayBuffer(),
      columns,
      compressors: { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) },
      onChunk: ({ columnName, columnData, rowStart }) => {
        const column = found.columns[columnName];
        for (let i = 0; i < columnData.length; i++) column[rowStart + i] = plain(columnData[i]);
      },
    });
  } catch (error) {
    throw new Error(`${file.name} cannot be read (${error instanceof Error ? error.message : error}); is it of this version?`);
  }
  found.rows = found.columns[columns[0]].length;
  return found;
}

function plain(value: unknown): number | string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : Number(value);
}
