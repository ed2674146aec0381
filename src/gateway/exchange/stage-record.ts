/** The own time of one hook of one stage in an exchange. Milliseconds, rounded to a hundredth. */
export interface StageRecord {
  /** The stage's name. */
  readonly stage: string;
  /** The hook that ran; `onSettled` runs after the record is made. */
  readonly hook: 'onHeaders' | 'onRequest' | 'onReply' | 'onStream' | 'onError';
  /** From the start of the exchange until the hook first ran. */
  readonly offset_ms: number;
  /** Time in the hook, of all its runs. Of `onStream`: in the stage's transformer, for all chunks. */
  readonly own_ms: number;
}

/** Most records of one exchange. */
const max_stage_records = 64;

/** What has timed the hooks of a chain in an exchange. */
export interface StageTimeline {
  /** Hooks that have ended, in the order in which they began; at most `limit`. */
  records(limit: number): StageRecord[];
}

/** The records of all chains that an exchange has entered, at most `max_stage_records`. */
export function stageRecords(timelines: readonly StageTimeline[]): StageRecord[] {
  const records: StageRecord[] = [];
  for (const timeline of timelines) records.push(...timeline.records(max_stage_records - records.length));
  return records;
}
