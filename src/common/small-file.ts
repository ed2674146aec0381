import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Why a file cannot be used, without anything of its content. */
export class FileProblem extends Error {
  override readonly name = 'FileProblem';
  /** Of the system's error, if there was one. */
  readonly code: string | undefined;

  constructor(message: string, cause?: NodeJS.ErrnoException) {
    super(message, { cause });
    this.code = cause?.code;
  }
}

const strict = new TextDecoder('utf-8', { fatal: true });

const notAllowed = `may not be read by this process, which runs as user ${process.getuid?.() ?? 'unknown'}`;

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: notAllowed,
  EPERM: notAllowed,
  ELOOP: 'is a symbolic link to itself',
  ENAMETOOLONG: 'has a path that is too long',
};

/** The text of a regular file of at most `max_bytes` in UTF-8. Throws a FileProblem for any other; a pipe or a device is never waited for. */
export function readSmallFile(file: string, max_bytes: number): string {
  const bytes = readSmallBytes(file, max_bytes);
  try {
    return strict.decode(bytes);
  } catch {
    throw new FileProblem('is not UTF-8 text');
  }
}

/** The bytes of a regular file, at most `max_bytes`. Throws a FileProblem as `readSmallFile` does. */
export function readSmallBytes(file: string, max_bytes: number): Buffer {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(descriptor);
    if (found.isDirectory()) throw new FileProblem('is a directory, not a file');
    if (!found.isFile()) throw new FileProblem('is not a regular file');
    const bytes = found.size > max_bytes ? undefined : bytesOf(descriptor, max_bytes);
    if (!bytes) throw new FileProblem(`is larger than ${max_bytes} bytes`);
    return bytes;
  } catch (thrown) {
    if (thrown instanceof FileProblem) throw thrown;
    const { code = '' } = thrown as NodeJS.ErrnoException;
    const message = reasons[code] ?? `cannot be read: ${code || 'unknown error'}`;
    throw new FileProblem(message, thrown as NodeJS.ErrnoException);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const block_bytes = 16 * 1024;

/** All that is there, whatever size the file system tells: some tell none. Undefined if it is more than `max_bytes`. */
function bytesOf(descriptor: number, max_bytes: number): Buffer | undefined {
  const blocks: Buffer[] = [];
  for (let size = 0; size <= max_bytes; ) {
    const block = Buffer.alloc(block_bytes);
    const length = readSync(descriptor, block, 0, block.length, null);
    if (length === 0) return Buffer.concat(blocks);
    blocks.push(block.subarray(0, length));
    size += length;
  }
  return undefined;
}
