import { limitRun, runText, type TokenRun, textRun } from './tokens.ts';
import type { ToolCall } from './tool-call.ts';

/** A part of a choice that goes to one place in the message. */
export interface Segment {
  readonly channel: 'reasoning' | 'content' | 'tool';
  readonly run: TokenRun;
  /** The call whose arguments it is; with channel `tool` only. */
  readonly call?: ToolCall;
}

/** One of the `n` alternatives of a reply. */
export interface Choice {
  readonly segments: readonly Segment[];
  readonly finish_reason: string;
  /** The stop string that ended it. */
  readonly stop_reason: string | null;
  readonly tally: Tally;
}

/** Tokens that `usage` counts; Infinity for an endless choice. */
export interface Tally {
  readonly completion: number;
  readonly reasoning: number;
}

/** Tokens of an endless text that are searched for stop strings; it repeats itself long before. */
const STOP_SEARCH_TOKENS = 2_000;

/** Ends the segments at `max_tokens`, counted over all of them, or before the first stop string in a text. */
export function finishChoice(
  segments: readonly Segment[],
  max_tokens: number,
  stops: readonly string[],
): Choice {
  const kept: Segment[] = [];
  let left = max_tokens;
  for (const segment of filled(segments)) {
    if (left === 0) return closeChoice(kept, 'length', null);
    const run = limitRun(segment.run, left);
    const stopped = segment.channel === 'tool' ? null : findStop(run, stops);
    if (stopped !== null)
      return closeChoice([...kept, { ...segment, run: stopped.run }], 'stop', stopped.stop);
    kept.push({ ...segment, run });
    if (run.count < segment.run.count) return closeChoice(kept, 'length', null);
    left -= run.count;
  }
  const calls = segments.some(segment => segment.channel === 'tool');
  return closeChoice(kept, calls ? 'tool_calls' : 'stop', null);
}

function closeChoice(parts: readonly Segment[], finish_reason: string, stop_reason: string | null): Choice {
  const segments = filled(parts);
  const count = (counted: readonly Segment[]) => counted.reduce((sum, { run }) => sum + run.count, 0);
  const reasoning = segments.filter(({ channel }) => channel === 'reasoning');
  return {
    segments,
    finish_reason,
    stop_reason,
    tally: { completion: count(segments), reasoning: count(reasoning) },
  };
}

const filled = (segments: readonly Segment[]) => segments.filter(({ run }) => run.count > 0);

function findStop(run: TokenRun, stops: readonly string[]): { run: TokenRun; stop: string } | null {
  if (stops.length === 0) return null;
  const text = runText(run, 0, run.count === Number.POSITIVE_INFINITY ? STOP_SEARCH_TOKENS : run.count);
  let first: { at: number; stop: string } | null = null;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at >= 0 && (first === null || at < first.at)) first = { at, stop };
  }
  return first && { run: textRun(text.slice(0, first.at)), stop: first.stop };
}
