import type { z } from 'zod';
import { fieldPath } from '../dialects/explain.ts';

/** One mistake in a configuration. */
export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Line of the file, from 1, where the configuration came from one. */
  readonly line?: number | undefined;
}

/** Everything that is wrong with a configuration, at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly issues: readonly ConfigIssue[];

  constructor(source: string, issues: readonly ConfigIssue[]) {
    const lines = issues.map(issue => `  ${shownIssue(issue)}`);
    super(`${source}: ${issues.length} mistake${issues.length === 1 ? '' : 's'}\n${lines.join('\n')}`);
    this.issues = issues;
  }
}

/** `models[0].pricing.prompt (line 12): must be …` */
export function shownIssue({ path, message, line }: ConfigIssue): string {
  return `${fieldPath(path) || '(top level)'}${line === undefined ? '' : ` (line ${line})`}: ${message}`;
}

/** What zod found, each unknown key as an issue of its own that names the accepted ones. */
export function issuesOf(
  error: z.ZodError,
  accepted: (path: readonly PropertyKey[]) => readonly string[],
): ConfigIssue[] {
  return error.issues.flatMap(issue => {
    if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) {
      return [{ path: issue.path, message: `is required: ${issue.expected}` }];
    }
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, message: issue.message }];
    const names = accepted(issue.path);
    return issue.keys.map(key => ({
      path: [...issue.path, key],
      message: `unknown name${names.length > 0 ? `; accepted here: ${names.join(', ')}` : ''}`,
    }));
  });
}
