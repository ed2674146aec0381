import { inspect } from 'node:util';

/** The rules that `checkStage` checks. */
export type StageRule =
  | 'results' // no hook returns what cannot be meant
  | 'refusals' // it lets the request of the check through, and throws no error of its own
  | 'ending' // hooks settle, and a stream ends when its source has ended
  | 'same-result' // the result does not depend on how a reply is cut
  | 'conservation' // nothing is lost, doubled, moved or invented
  | 'faults' // all that came before a fault is passed on, then the same fault is rethrown
  | 'leaving' // when its reader leaves, the source is closed and nothing throws
  | 'back-pressure' // the source is not read while the reader asks for nothing
  | 'delay' // something reaches the reader before the reply has ended
  | 'isolation' // replies at the same time do not mix, and nothing is left over from one exchange for the next
  | 'whole-replies' // onReply and onStream agree
  | 'leaks' // a text that is changed is changed wherever it stands
  | 'errors' // onError returns a GatewayError, before and after the body was read
  | 'settlement'; // onSettled is called once and never throws

/** The rules that `checkAdapter` checks. */
export type AdapterRule =
  | 'meaning' // a fixture decodes into what its author says it means
  | 'same-result' // the result does not depend on how the bytes are cut and lines end
  | 'whole-replies' // a whole reply means the same as the stream
  | 'truncation' // a stream that is broken off is not taken for complete
  | 'shape' // what is decoded is canonical: types, finish reasons, indexes
  | 'usage' // totals are sums, running usage never decreases
  | 'tool-calls' // calls have ids, names, indexes without gaps and JSON arguments
  | 'isolation' // streams at the same time do not mix
  | 'errors' // errors become what clients should see of them
  | 'nonsense' // malformed input decodes or fails with a known error, in time
  | 'requests' // every request is encoded, refused by field, or names what it leaves out
  | 'credentials'; // the key is in valid headers and nowhere else

/** The rules that `checkRecordsStore`, `checkStateStore` and `checkExtension` check. */
export type StoreRule =
  | 'records' // what is written is read as it was written
  | 'refusals' // what must not be done is refused with its error
  | 'changes' // other instances notice changes
  | 'pages' // lists go on where the page before ended
  | 'ledger' // rows count once, and sums are exact
  | 'people' // sessions and invitations begin and end
  | 'responses' // stored responses are found as they were written, by their account alone, until they expire
  | 'pruning' // old rows go, sums stay
  | 'limits' // no limit is exceeded, over all instances
  | 'settlement' // what was used counts once, and permits come back
  | 'answers' // every request is answered, or passed on
  | 'ending'; // nothing goes on after the end

/** The rules that are checked. */
export type Rule = StageRule | AdapterRule | StoreRule;

/** Where a rule was broken. */
export interface Place {
  /** Name of the fixture. */
  readonly fixture?: string | undefined;
  /** How the fixture was cut or changed, or where it ended. */
  readonly cut?: string | undefined;
}

/** Where a rule was broken, and how. */
export interface Breach extends Place {
  /** The rule that was broken. */
  readonly rule: Rule;
  /** The name of what was checked, or the names of a chain. */
  readonly subject: string;
  /** What is wrong, in one sentence. */
  readonly problem: string;
  /** What should have come. */
  readonly expected: unknown;
  /** What came. */
  readonly got: unknown;
}

/** Thrown at the first breach. The message contains all that is known; `cause` is what was thrown. */
export class ContractError extends Error implements Breach {
  /** Always `ContractError`. */
  override readonly name = 'ContractError';
  /** The rule that was broken. */
  declare readonly rule: Rule;
  /** The name of what was checked, or the names of a chain. */
  declare readonly subject: string;
  /** The fixture; undefined outside of one. */
  declare readonly fixture: string | undefined;
  /** How the fixture was cut or changed, or where it ended. */
  declare readonly cut: string | undefined;
  /** What is wrong, in one sentence. */
  declare readonly problem: string;
  /** What should have come. */
  declare readonly expected: unknown;
  /** What came. */
  declare readonly got: unknown;

  constructor(breach: Breach) {
    super(messageOf(breach), breach.got instanceof Error ? { cause: breach.got } : undefined);
    Object.assign(this, breach);
  }
}

function messageOf({ rule, subject, fixture, cut, problem, ...values }: Breach): string {
  const lines = [`${subject}: ${problem} (${rule})`];
  if (fixture !== undefined) lines.push(`  fixture   ${fixture}`);
  if (cut !== undefined) lines.push(`  cut       ${cut}`);
  const [expected, got] = aroundDifference(printed(values.expected), printed(values.got));
  return [...lines, `  expected  ${expected}`, `  got       ${got}`].join('\n');
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
