import { InvalidArgumentError } from 'commander';

/** Reads a number from `low` to `high`. */
export const numberFrom =
  (low: number, high: number, isInteger = true) =>
  (text: string): number => {
    const value = Number(text);
    const isAllowed = value >= low && value <= high && (!isInteger || Number.isInteger(value));
    if (text.trim() === '' || !isAllowed)
      throw new InvalidArgumentError(
        `It must be ${isInteger ? 'an integer' : 'a number'} from ${low} to ${high}.`,
      );
    return value;
  };

/** Reads names separated by commas, each of them a key of `all`; returns their values. */
export const listOf =
  <T>(all: Readonly<Record<string, T>>) =>
  (text: string): T[] =>
    text.split(',').map(name => {
      const found = all[name];
      if (found === undefined)
        throw new InvalidArgumentError(`'${name}' is none of ${Object.keys(all).join(', ')}.`);
      return found;
    });
