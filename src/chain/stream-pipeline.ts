import type { ChunkSink, ChunkSource, StreamHandle } from '../stream.ts';
import type { StageTimes } from './instrument.ts';
import { PipelineControl } from './pipeline-control.ts';
import { StageLink, type StageTransformer } from './stage-link.ts';

/**
 * A stream through the transformers of an exchange, the first the nearest to the upstream. What is synchronous runs in the turn in which
 * the bytes came. From the provider's socket to the client's eight objects call one another for a chunk:
 *
 * 1. `UpstreamCall`: undici's handler; pauses and resumes the socket
 * 2. `StreamReader`: bytes to chunks, with the parser and the adapter's decoder
 * 3. `Attempt`: its span, times and end
 * 4. `AttemptStream`: holds chunks until the answer's first word, while another upstream could still be asked
 * 5. `MeteredStream`: counts what the stages take
 * 6. `StageLink`, one for each stage that transforms this stream
 * 7. `StreamShape`: what the protocol promises, whatever the stages
 * 8. `StreamWriter`: the dialect's text, commit, heartbeat, back-pressure, write
 */
export class StreamPipeline implements ChunkSource {
  readonly #source: ChunkSource;
  readonly #stages: readonly StageTransformer[];
  readonly #times: StageTimes;

  constructor(source: ChunkSource, stages: readonly StageTransformer[], times: StageTimes) {
    this.#source = source;
    this.#stages = stages;
    this.#times = times;
  }

  pushInto(sink: ChunkSink): StreamHandle {
    const control = new PipelineControl(sink);
    let next: ChunkSink = sink;
    for (const stage of this.#stages.toReversed()) {
      const link = new StageLink(stage, next, next === sink, control, this.#times);
      control.links.unshift(link);
      next = link;
    }
    control.source = this.#source.pushInto(next);
    return control;
  }
}
