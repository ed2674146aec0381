import { load_core, type Variables } from '../children.ts';
import type { Surroundings } from './contestant.ts';

/** Something that takes spans, beside the load generator: what it costs itself is not the gateway's. */
export async function traceSink({ children }: Surroundings): Promise<{
  readonly variables: Variables;
  spans(): Promise<number>;
}> {
  const sink = children.startOwn(load_core, 'contestants/trace-sink.ts');
  const { port } = (await sink.message()) as { port: number };
  return {
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
    spans: async () => {
      const told = sink.message();
      sink.send({ tell: 'spans' });
      return ((await told) as { spans: number }).spans;
    },
  };
}
