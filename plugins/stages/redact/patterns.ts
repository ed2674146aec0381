import type { Replacement } from './text/text-replacer.ts';

/** A pattern, and what its matches must be beside. */
interface BuiltInPattern {
  readonly pattern: RegExp;
  /** Whether a match is what it looks like; else its beginnings up to a space are tried. */
  readonly isValid?: (match: string) => boolean;
}

/** What can be masked by name. */
export const builtInPatterns = {
  email: { pattern: /[\w.%+\u00c0-\u024f-]+@(?:[\w\u00c0-\u024f-]+\.)+[a-z]{2,}/i },
  credit_card: { pattern: /\b[2-6]\d(?:[ -]?\d){11,17}\b/, isValid: isCardNumber },
  iban: { pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z\d]){11,30}\b/, isValid: isIban },
  api_key: {
    pattern:
      /\b(?:[rsp]k[_-][\w-]{16,}|gh[a-z]_\w{20,}|github_pat_\w{20,}|AKIA[A-Z\d]{16}|xox[a-z]-[\w-]{10,}|[Bb]earer\s+[\w.~+/=-]{16,}|eyJ[\w-]+\.[\w-]+\.[\w-]+)/,
  },
  ipv4: { pattern: /\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b/ },
} satisfies Record<string, BuiltInPattern>;

export type BuiltInName = keyof typeof builtInPatterns;

/** Masks what has this name. `masked` is called for each match. */
export function builtIn(name: BuiltInName, masked: () => void): Replacement {
  const { pattern, isValid }: BuiltInPattern = builtInPatterns[name];
  const replace = (match: string) => {
    const length = isValid ? validLength(match, isValid) : match.length;
    if (length === 0) return undefined;
    masked();
    return `[${name}]${match.slice(length)}`;
  };
  return { pattern, replace };
}

/** How much of a match is valid: all, or its beginning up to a space or hyphen, such as a card's number before its code. */
function validLength(match: string, isValid: (text: string) => boolean): number {
  for (let end = match.length; end > 0; end = match.slice(0, end).search(/[ -][^ -]*$/))
    if (isValid(match.slice(0, end))) return end;
  return 0;
}

/** Whether the last digit is the check digit of the others, by Luhn. */
function isCardNumber(text: string): boolean {
  const digits = [...text.replace(/\D/g, '')].reverse().map(Number);
  const sum = digits.reduce(
    (so_far, digit, at) => so_far + (at % 2 === 0 ? digit : (digit * 2) % 9 || digit),
    0,
  );
  return digits.length >= 13 && sum % 10 === 0;
}

/** Whether the number, with its first four characters behind the others and letters as 10 to 35, is 1 modulo 97. */
function isIban(text: string): boolean {
  const written = text.replaceAll(' ', '');
  const digits = [...(written.slice(4) + written.slice(0, 4))]
    .map(sign => Number.parseInt(sign, 36))
    .join('');
  return written.length >= 15 && BigInt(digits) % 97n === 1n;
}
