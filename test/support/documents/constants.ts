import { read } from './blocks.ts';

const factors: Readonly<Record<string, number>> = {
  second_ms: 1000,
  minute_ms: 60_000,
  hour_ms: 3_600_000,
  day_ms: 86_400_000,
};

/** The number that a constant or a field of a source file is set to, such as `5_000` or `90 * day_ms`. */
export function constantIn(file: string, name: string): number {
  const pattern = new RegExp(`(?<![\\w.])${name}(?:: \\w+)?(?: =|:) (-?[\\w.]+(?: \\* \\w+)*)`);
  const [, written] = pattern.exec(read(file)) ?? [];
  if (written === undefined) throw new Error(`${file} has no number ${name}`);
  return written
    .split(' * ')
    .map(part => factors[part] ?? numberOf(part))
    .reduce((product, part) => product * part, 1);
}

/** The numbers in a source file that the groups of a pattern match. */
export const numbersIn = (file: string, pattern: RegExp): number[] => numbersOf(read(file), pattern, file);

/** The numbers in a text that the groups of a pattern match. */
export function numbersOf(text: string, pattern: RegExp, name: string): number[] {
  const found = pattern.exec(text);
  if (!found) throw new Error(`${name} has nothing like ${pattern}`);
  return found.slice(1).map(numberOf);
}

const numberOf = (written: string): number => Number(written.replaceAll('_', ''));

/** The same as `constantIn`, of bytes in KiB and MiB, of milliseconds in longer units. */
export const kib = (file: string, name: string): number => constantIn(file, name) / 1024;
export const mib = (file: string, name: string): number => kib(file, name) / 1024;
export const seconds = (file: string, name: string): number => constantIn(file, name) / 1000;
export const minutes = (file: string, name: string): number => seconds(file, name) / 60;
export const hours = (file: string, name: string): number => minutes(file, name) / 60;
export const days = (file: string, name: string): number => hours(file, name) / 24;
