/** How the value of an option or directive is written, and which values are accepted. */
export interface ValueKind<T> {
  /** Ends the sentence "… must be". */
  readonly expects: string;
  /** Short form for usage lines, such as `N` or `field|tags`. */
  readonly label: string;
  /** The value that a text stands for, or undefined when it stands for none. */
  read(text: string): T | undefined;
  accepts(value: unknown): value is T;
}

/** An integer within bounds. */
export function integer(min: number, max: number, label = 'N'): ValueKind<number> {
  const upper = max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`;
  const accepts = (value: unknown): value is number =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
  return {
    expects: `an integer of at least ${min}${upper}`,
    label,
    read: text => (/^-?\d+$/.test(text) && accepts(Number(text)) ? Number(text) : undefined),
    accepts,
  };
}

/** A finite number within bounds. */
export function decimal(min: number, max: number, label: string): ValueKind<number> {
  const upper = max === Number.MAX_VALUE ? '' : ` and at most ${max}`;
  const accepts = (value: unknown): value is number =>
    typeof value === 'number' && value >= min && value <= max;
  return {
    expects: `a number of at least ${min}${upper}`,
    label,
    read: text => (/^\d*\.?\d+$/.test(text) && accepts(Number(text)) ? Number(text) : undefined),
    accepts,
  };
}

/** One of a list of words. */
export function oneOf<const T extends string>(words: readonly T[]): ValueKind<T> {
  const accepts = (value: unknown): value is T => words.includes(value as T);
  return {
    expects: `one of ${words.join(', ')}`,
    label: words.join('|'),
    read: text => (accepts(text) ? text : undefined),
    accepts,
  };
}

/** Any text but the empty one. */
export function text(label: string): ValueKind<string> {
  const accepts = (value: unknown): value is string => typeof value === 'string' && value !== '';
  return {
    expects: 'a text that is not empty',
    label,
    read: value => (accepts(value) ? value : undefined),
    accepts,
  };
}

/** A list of texts, written with commas. */
export function list(label: string): ValueKind<readonly string[]> {
  const accepts = (value: unknown): value is readonly string[] =>
    Array.isArray(value) && value.every(item => typeof item === 'string' && item !== '');
  return {
    expects: 'a list of names',
    label,
    read: value => {
      const items = value.split(',').map(item => item.trim());
      return accepts(items) ? items : undefined;
    },
    accepts,
  };
}

/** The kind, or null for "not set". */
export function nullable<T>(kind: ValueKind<T>): ValueKind<T | null> {
  const accepts = (value: unknown): value is T | null => value === null || kind.accepts(value);
  return { ...kind, accepts };
}
