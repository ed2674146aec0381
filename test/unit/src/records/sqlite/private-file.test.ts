import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { warnOfSharedFiles } from '../../../../../src/records/sqlite/private-file.ts';
import { capturedLog } from '../../../../support/captured-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-private-'));
afterAll(() => rmSync(folder, { recursive: true }));

it.each(['', '-wal', '-shm'])(
  'warns of a file of a database that others may read: the one that ends in "%s"',
  shared => {
    const path = join(folder, `of${shared}.db`);
    for (const end of ['', '-wal', '-shm']) {
      writeFileSync(path + end, '');
      chmodSync(path + end, end === shared ? 0o640 : 0o600);
    }
    const { log, lines } = capturedLog();
    warnOfSharedFiles(path, log);
    expect(lines.map(({ file, mode }) => [file, mode])).toEqual([[path + shared, '640']]);
  },
);
