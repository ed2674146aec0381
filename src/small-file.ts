import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Why a file cannot be used, without anything of its content. */
export class FileProblem extends Error {
  override readonly name = 'FileProblem';
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
  const bytes = bytesOf(file, max_bytes);
  try {
    return strict.decode(bytes);
  } catch {
    throw new FileProblem('is not UTF-8 text');
  }
}

function bytesOf(file: string, max_bytes: number): Buffer {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(descriptor);
    if (found.isDirectory()) throw new FileProblem('is a directory, not a file');
    if (!found.isFile()) throw new FileProblem('is not a regular file');
    // Room for one byte more, which a file has that grows meanwhile.
    const buffer = Buffer.alloc(Math.min(found.size, max_bytes) + 1);
    const length = found.size > max_bytes ? buffer.length : readSync(descriptor, buffer, 0, buffer.length, 0);
    if (length > max_bytes) throw new FileProblem(`is larger than ${max_bytes} bytes`);
    return buffer.subarray(0, length);
  } catch (thrown) {
    if (thrown instanceof FileProblem) throw thrown;
    const { code = '' } = thrown as NodeJS.ErrnoException;
    throw new FileProblem(reasons[code] ?? `cannot be read: ${code || 'unknown error'}`, { cause: thrown });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
