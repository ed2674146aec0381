/** Format and accepted values of an option or directive. */
export interface ValueKind<T> {
  /** Ends the sentence "… must be". */
  readonly expects: string;
  /** Short form for usage lines, such as `N` or `field|tags`. */
  readonly label: string;
  /** Parses a text; undefined if it is not valid. */
  read(text: string): T | undefined;
  accepts(value: unknown): value is T;
}

function kindOf<T>(
  expects: string,
  label: string,
  isAccepted: (value: T) => boolean,
  parse: (text: string) => unknown,
): ValueKind<T> {
  const accepts = (value: unknown): value is T => isAccepted(value as T);
  const read = (text: string): T | undefined => {
    const value = parse(text);
    return accepts(value) ? value : undefined;
  };
  return { expects, label, read, accepts };
}

const range = (min: number, max: number, largest: number): string =>
  `of at least ${min}${max === largest ? '' : ` and at most ${max}`}`;

/** An integer within bounds. */
export const integer = (min: number, max = Number.MAX_SAFE_INTEGER, label = 'N'): ValueKind<number> =>
  kindOf(
    `an integer ${range(min, max, Number.MAX_SAFE_INTEGER)}`,
    label,
    value => Number.isSafeInteger(value) && value >= min && value <= max,
    text => (/^-?\d+$/.test(text) ? Number(text) : undefined),
  );

/** A finite number of at least 0. */
export const decimal = (label: string, max = Number.MAX_VALUE): ValueKind<number> =>
  kindOf(
    `a number ${range(0, max, Number.MAX_VALUE)}`,
    label,
    value => typeof value === 'number' && value >= 0 && value <= max,
    text => (/^\d*\.?\d+$/.test(text) ? Number(text) : undefined),
  );

/** One of a list of words. */
export const oneOf = <const T extends string>(words: readonly T[]): ValueKind<T> =>
  kindOf(
    `one of ${words.join(', ')}`,
    words.join('|'),
    value => words.includes(value),
    text => text,
  );

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Any text but the empty one. */
export const text = (label: string): ValueKind<string> =>
  kindOf<string>('a text that is not empty', label, isText, given => given);

/** A JSON object. */
export const jsonObject = (label: string): ValueKind<string> =>
  kindOf<string>('a JSON object', label, isJsonObject, given => given.trim());

function isJsonObject(value: unknown): boolean {
  if (typeof value !== 'string' || !value.startsWith('{')) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

/** A list of texts, written with commas. */
export const list = (label: string): ValueKind<readonly string[]> =>
  kindOf(
    'a list of names',
    label,
    value => Array.isArray(value) && value.every(isText),
    given => given.split(',').map(item => item.trim()),
  );
