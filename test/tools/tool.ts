import type { Command } from 'commander';

/** How a tool was started. */
interface Invocation<Options> {
  readonly options: Options;
  /** What stands beside the options. */
  readonly names: readonly string[];
  /** As it was typed, for reports. */
  readonly command: string;
}

/** A program for those who work on sluice, started by the runner. `npm run bench -- NAME --help` says what it takes. */
export interface Tool<Options = never> {
  /** What it needs, prints and fails at. */
  readonly about: string;
  /** Declares its options, and its arguments if it takes any. */
  options?(command: Command): Command;
  /** Resolves with whether all was as it must be. */
  run(invocation: Invocation<Options>): Promise<boolean>;
}

/** Checks a tool against its options. */
export const defineTool = <Options>(tool: Tool<Options>): Tool<Options> => tool;

/** Prints progress, on standard error: what is to be kept goes to standard output. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);
