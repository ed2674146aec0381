import { chunkFault } from '../gateway/exchange/canonical-faults.ts';
import {
  HookResultError,
  isAnswer,
  isNothing,
  isReply,
  isTransformer,
} from '../gateway/exchange/hook-result.ts';
import type { Stage } from '../gateway/exchange/stage.ts';
import type { StreamController, StreamTransformer } from '../gateway/exchange/stream.ts';
import type { Breach } from './contract-error.ts';

/** What a stage did wrong that its output does not show. */
export type Mistake = Pick<Breach, 'rule' | 'problem' | 'expected' | 'got'>;

/** Watches the stages of one check. */
export class StageWatch {
  /** The first. */
  mistake: Mistake | undefined;
  /** What a stage threw in `cancel` last. */
  cancelFault: unknown;
  /** Stages whose transformer has no `flush`, and received more chunks of the last stream than it passed on. */
  readonly holding = new Set<string>();

  note(mistake: Mistake): void {
    this.mistake ??= mistake;
  }
}

const results = {
  onHeaders: { expected: 'nothing', isMeant: isNothing },
  onRequest: {
    expected: 'an answer, or nothing',
    isMeant: (result: unknown) => isNothing(result) || isAnswer(result),
  },
  onReply: { expected: 'a reply', isMeant: isReply },
  onStream: {
    expected: 'a transformer, or nothing',
    isMeant: (result: unknown) => isNothing(result) || isTransformer(result),
  },
  // A function of one expression has a result by accident.
  onSettled: {
    expected: 'nothing',
    isMeant: (result: unknown) => isNothing(result) || typeof result !== 'object',
  },
} as const;

/**
 * A copy of the stage that tells `watch` what its hooks return that means nothing, which do not settle within `timeout_ms`, and what its
 * transformers do.
 */
export function watchedStage(stage: Stage, watch: StageWatch, timeout_ms: number): Stage {
  const copy = { ...stage } as Record<string, unknown>;
  for (const [hook, { expected, isMeant }] of Object.entries(results)) {
    const name = hook as keyof typeof results;
    if (!stage[name]) continue;
    const judge = (result: unknown) => {
      if (isMeant(result)) return;
      const problem = new HookResultError(stage.name, name, result).message;
      watch.note({ rule: 'results', problem, expected, got: result });
    };
    copy[name] = (...given: [never, never]) => {
      const result: unknown = stage[name]!(...given);
      if (result instanceof Promise && name !== 'onStream') {
        result.then(judge, () => {});
        // Nothing waits for what onSettled returns.
        return name === 'onSettled' ? result : settled(result, stage.name, name, watch, timeout_ms);
      }
      judge(result);
      return isTransformer(result) ? watchedTransformer(stage.name, result, watch) : result;
    };
  }
  return copy as unknown as Stage;
}

/** What `pending` settles with. After `timeout_ms` notes that it does not, and rejects. */
async function settled<T>(
  pending: Promise<T>,
  stage: string,
  hook: string,
  watch: StageWatch,
  timeout_ms: number,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const problem = `${hook} does not settle within ${timeout_ms} ms`;
    watch.note({
      rule: 'ending',
      problem,
      expected: 'a settled promise',
      got: `a pending promise of ${stage}`,
    });
    reject(new Error(problem));
  }, timeout_ms);
  try {
    return await Promise.race([pending, late]);
  } finally {
    clearTimeout(timer);
  }
}

function watchedTransformer(
  stage: string,
  transformer: StreamTransformer,
  watch: StageWatch,
): StreamTransformer {
  let received = 0;
  let passed = 0;
  let isOver = false;
  let watched: StreamController | undefined;
  const through = (controller: StreamController): StreamController =>
    (watched ??= {
      enqueue(chunk) {
        passed++;
        if (isOver)
          watch.note({
            rule: 'ending',
            problem: `the transformer of ${stage} enqueues a chunk after its stream has ended, where it is lost: what it waits for, flush must wait for`,
            expected: 'no chunk',
            got: chunk,
          });
        if (chunkFault(chunk) !== undefined)
          watch.note({
            rule: 'conservation',
            problem: 'yields what is no chunk',
            expected: 'an object with choices',
            got: chunk,
          });
        controller.enqueue(chunk);
      },
      terminate: () => controller.terminate(),
      ready: () => controller.ready(),
    });
  const end = () => {
    isOver = true;
    if (!transformer.flush && received > passed) watch.holding.add(stage);
  };
  return {
    ...(transformer.start && { start: controller => transformer.start!(through(controller)) }),
    transform(chunk, controller) {
      received++;
      return transformer.transform(chunk, through(controller));
    },
    flush(controller) {
      const pending = transformer.flush?.(through(controller));
      if (pending) return pending.then(end);
      end();
    },
    cancel() {
      try {
        transformer.cancel?.();
      } catch (thrown) {
        watch.cancelFault = thrown;
      }
    },
  };
}
