import { fileURLToPath } from 'node:url';

/** What the last run of a program showed: a row of the table in docs/reference/clients.md, written by `npm run clients -- --programs`. */
export interface ProgramFacts {
  readonly name: string;
  readonly client: string;
  readonly package: string;
  readonly version: string;
  readonly endpoint: '/v1/chat/completions' | '/v1/responses' | '/v1/messages';
  /** Why it is not a dev dependency. */
  readonly why: string;
  /** A setting of the gateway that it needs. */
  readonly needs?: string;
  readonly works: boolean;
  readonly shows_reasoning: boolean;
  readonly shows_usage: boolean;
  readonly calls_tools: boolean;
  readonly returns_reasoning: boolean;
  readonly always_streams: boolean;
  /** Absent if it was not tried. */
  readonly repeats_after_524?: boolean;
}

/** Where the facts are kept. */
export const results_file = fileURLToPath(new URL('results.json', import.meta.url));
