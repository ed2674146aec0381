/** Text that is HTML already. Created only by the tag `html`. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template. `false`, `null` and `undefined` render nothing. */
export type Part = Html | string | number | false | null | undefined | readonly Part[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, character => entities[character]!);

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === false || part === null || part === undefined) return '';
  return typeof part === 'object' ? part.map(textOf).join('') : escaped(String(part));
}

/** A template whose values are escaped, for text and for attributes in quotes; nested templates stay as they are. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0]!;
  for (const [at, part] of parts.entries()) text += textOf(part) + strings[at + 1]!;
  return new Html(text);
}
