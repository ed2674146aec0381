import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readSmallFile } from '../../../../src/common/small-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(content: string | Buffer): string {
  const file = join(folder, 'file');
  writeFileSync(file, content);
  return file;
}

describe('a small file', () => {
  it('is read up to its bound, without a byte order mark', () => {
    expect(readSmallFile(fileWith('1234'), 4)).toBe('1234');
    expect(readSmallFile(fileWith('\ufeffä\n'), 64)).toBe('ä\n');
    expect(readSmallFile(fileWith(''), 4)).toBe('');
  });

  it('is read to its end where the file system tells no size', () => {
    const file = '/proc/version';
    if (existsSync(file)) expect(readSmallFile(file, 4096)).toBe(readFileSync(file, 'utf8'));
  });

  it.each([
    ['above its bound', () => fileWith('12345'), 'is larger than 4 bytes'],
    ['without an end', () => '/dev/zero', 'is not a regular file'],
    ['that is a directory', () => folder, 'is a directory, not a file'],
    ['that does not exist', () => join(folder, 'none'), 'does not exist'],
    ['below a file', () => join(fileWith(''), 'none'), 'does not exist'],
    ['that is not UTF-8', () => fileWith(Buffer.from([0x61, 0xff])), 'is not UTF-8 text'],
  ])('%s is refused', (_, file, message) => {
    expect(() => readSmallFile(file(), 4)).toThrow(message);
  });

  it('that is a pipe without a writer is refused at once', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(() => readSmallFile(pipe, 4)).toThrow('is not a regular file');
  });
});
