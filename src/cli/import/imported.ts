import type { Findings } from './findings.ts';
import type { ImportedConfig } from './imported-config.ts';

/** A configuration, and what did not come over into it. */
export interface Imported {
  readonly config: ImportedConfig;
  /** Of each file. */
  readonly findings: readonly Findings[];
}
