import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { statesOf, watchFiles } from '../../../../src/common/watch-files.ts';
import { until } from '../../../support/until.ts';

let folder: string;
let calls: number;
let end: () => void;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-watch-'));
  calls = 0;
});
afterEach(() => {
  end();
  rmSync(folder, { recursive: true });
});

const place = (name: string) => join(folder, name);
function watch(...names: string[]): void {
  end = watchFiles(names.map(place), () => calls++, 5);
}

describe('a watch of files', () => {
  it('sees a file that is written in place, replaced by a rename, removed and created', async () => {
    writeFileSync(place('key'), 'one');
    watch('key');
    writeFileSync(place('key'), 'two');
    await until(() => calls === 1);
    writeFileSync(place('next'), 'six');
    renameSync(place('next'), place('key'));
    await until(() => calls === 2);
    rmSync(place('key'));
    await until(() => calls === 3);
    writeFileSync(place('key'), 'two');
    await until(() => calls === 4);
  });

  it('sees a folder of mounted files that is swapped through a symbolic link, once for all files', async () => {
    for (const version of ['v1', 'v2']) {
      mkdirSync(place(version));
      for (const name of ['cert', 'key']) writeFileSync(place(`${version}/${name}`), 'same length');
    }
    symlinkSync('v1', place('data'));
    for (const name of ['cert', 'key']) symlinkSync(`data/${name}`, place(name));
    watch('cert', 'key');
    symlinkSync('v2', place('new'));
    renameSync(place('new'), place('data'));
    await until(() => calls === 1);
    writeFileSync(place('v2/key'), 'changed');
    await until(() => calls === 2);
  });

  it('waits until a file that is being written stays the same', async () => {
    const began_ms = performance.now();
    let text = '';
    const seen: string[] = [];
    end = watchFiles([place('config')], () => seen.push(text), 5);
    const writer = setInterval(() => {
      text += 'line\n';
      writeFileSync(place('config'), text);
      if (performance.now() - began_ms > 600) clearInterval(writer);
    }, 20);
    await until(() => seen.length > 0);
    expect(performance.now() - began_ms).toBeGreaterThan(600);
    expect(seen).toEqual([text]);
  });

  it('sees what has changed between a state that was taken before and the watch', async () => {
    writeFileSync(place('config'), 'one');
    const known = statesOf([place('config')]);
    writeFileSync(place('config'), 'changed');
    let seen = 0;
    end = watchFiles([place('config')], () => seen++, 5, known);
    await until(() => seen === 1);
  });

  it('calls nothing once it has ended', async () => {
    writeFileSync(place('key'), 'one');
    watch('key');
    end();
    writeFileSync(place('key'), 'two');
    let others = 0;
    end = watchFiles([place('key')], () => others++, 5);
    writeFileSync(place('key'), 'three');
    await until(() => others === 1);
    expect(calls).toBe(0);
  });
});
