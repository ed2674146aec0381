import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { standardOutput } from '../../../../src/telemetry/standard-output.ts';

type Written = (error?: Error | null) => void;
let lines: string[];
let ends: Written[];
/** Whether there is a reader, and how much waits for it. */
let pipe: { writable: boolean; writableLength: number };
let before: number;

beforeEach(() => {
  lines = [];
  ends = [];
  pipe = { writable: true, writableLength: 0 };
  const write = (line: string, written: Written) => {
    lines.push(line);
    ends.push(written);
  };
  const stdout = () => ({ ...pipe, write, on() {} }) as unknown as typeof process.stdout;
  jest.spyOn(process, 'stdout', 'get').mockImplementation(stdout);
  before = standardOutput.dropped_lines;
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
  jest.restoreAllMocks();
});
const dropped = () => standardOutput.dropped_lines - before;

it('drops lines above four mebibytes and without a reader, and says once how many, before the next line', () => {
  for (const [writable, writableLength] of [
    [true, 4 * 1024 * 1024],
    [true, 4 * 1024 * 1024 + 1],
    [false, 0],
    [true, 0],
    [true, 0],
  ] as const) {
    pipe = { writable, writableLength };
    standardOutput.write(`${writable} ${writableLength}\n`);
  }
  expect(lines).toEqual(['true 4194304\n', expect.any(String), 'true 0\n', 'true 0\n']);
  expect(JSON.parse(lines[1]!)).toMatchObject({ level: 40, dropped_lines: 2 });
  expect(dropped()).toBe(2);
  pipe.writable = false;
  standardOutput.write('lost\n');
  pipe.writable = true;
  standardOutput.write('written\n');
  expect(JSON.parse(lines.at(-2)!)).toMatchObject({ dropped_lines: 1 });
});

it('waits until every line is written, for a limited time, and says how many were lost', async () => {
  expect(await standardOutput.flush(60_000)).toBe(before);
  for (const line of ['one', 'two', 'three']) standardOutput.write(line);
  ends.shift()!(new Error('EPIPE'));
  // Two are not written, and one is lost.
  expect(await standardOutput.flush(1)).toBe(before + 3);
  let isFlushed = false;
  const flushed = standardOutput.flush(60_000).then(lost => {
    isFlushed = true;
    return lost;
  });
  ends.shift()!();
  await new Promise(setImmediate);
  expect(isFlushed).toBe(false);
  ends.shift()!();
  expect(await flushed).toBe(before + 1);
  standardOutput.write('next');
  pipe.writable = false;
  // The line, and the one before it that says how many were lost. There is nothing to wait for.
  expect(await standardOutput.flush(60_000)).toBe(before + 1 + 2);
});
