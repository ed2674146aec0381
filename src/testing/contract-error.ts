import { inspect } from 'node:util';

/** The rules that `checkStage` holds a stage to, in the order in which it checks them. */
export type Rule =
  | 'refusals' // it lets the request of the check through, and throws nothing of its own
  | 'ending' // a stream ends when its source has ended
  | 'same-result' // however a reply is cut, the same comes out
  | 'conservation' // nothing is lost, doubled, moved or invented
  | 'faults' // all that came before a fault is handed on, then the same fault is rethrown
  | 'leaving' // a reader that leaves closes the source, and nothing throws
  | 'back-pressure' // nothing is read for a reader that asks for nothing
  | 'delay' // something reaches the reader before the reply has ended
  | 'isolation' // replies at the same time do not mix
  | 'whole-replies' // onReply and onStream agree
  | 'errors' // onError returns a GatewayError, at whatever moment
  | 'settlement'; // onSettled once, and it never throws

/** Where a rule was broken, and how. */
export interface Breach {
  readonly rule: Rule;
  /** The stage's name, or the names of a chain. */
  readonly stage: string;
  readonly fixture?: string | undefined;
  /** How the fixture was cut, or where it ended. */
  readonly cut?: string | undefined;
  readonly problem: string;
  readonly expected?: unknown;
  readonly got?: unknown;
}

/** Thrown by `checkStage` at the first breach. The message says everything that there is to know. */
export class ContractError extends Error implements Breach {
  override readonly name = 'ContractError';
  readonly rule: Rule;
  readonly stage: string;
  readonly fixture: string | undefined;
  readonly cut: string | undefined;
  readonly problem: string;
  readonly expected: unknown;
  readonly got: unknown;

  constructor(breach: Breach, cause?: unknown) {
    super(messageOf(breach), cause === undefined ? undefined : { cause });
    this.rule = breach.rule;
    this.stage = breach.stage;
    this.fixture = breach.fixture;
    this.cut = breach.cut;
    this.problem = breach.problem;
    this.expected = breach.expected;
    this.got = breach.got;
  }
}

function messageOf({ rule, stage, fixture, cut, problem, ...values }: Breach): string {
  const lines = [`${stage}: ${problem} (${rule})`];
  if (fixture !== undefined) lines.push(`  fixture   ${fixture}`);
  if (cut !== undefined) lines.push(`  cut       ${cut}`);
  if ('expected' in values || 'got' in values) {
    const [expected, got] = aroundDifference(printed(values.expected), printed(values.got));
    lines.push(`  expected  ${expected}`, `  got       ${got}`);
  }
  return lines.join('\n');
}

function printed(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY });
  }
}

const shown_before = 60;
const shown_after = 140;

/** Both texts, shortened to where they begin to differ. */
function aroundDifference(a: string, b: string): [string, string] {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const from = Math.max(0, at - shown_before);
  const part = (text: string) =>
    `${from > 0 ? '…' : ''}${text.slice(from, at + shown_after)}${text.length > at + shown_after ? '…' : ''}`;
  return [part(a), part(b)];
}
