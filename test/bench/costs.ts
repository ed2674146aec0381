import { type Children, gateway_core, load_core, type Variables } from './children.ts';

/** CPU time that something adds to an exchange, counted in a process of its own. */
export interface Cost {
  readonly title: string;
  readonly added_us: number;
}

/** A whole run of `tracing-cost.ts` on a slow machine. */
const patience_ms = 120_000;

/** What is too little to be seen in requests per second, or drowns in what else a machine does. */
export async function costsAlone(children: Children, say: (text: string) => void): Promise<Cost[]> {
  say('counting what metrics and tracing cost');
  const metrics = children.startOwn(gateway_core, 'metrics-cost.ts');
  const { metrics_us } = (await metrics.message(patience_ms)) as { metrics_us: number };
  const sink = children.startOwn(load_core, 'contestants/trace-sink.ts');
  const { port } = (await sink.message()) as { port: number };
  const tracing_us = async (variables: Variables): Promise<number> => {
    const child = children.startOwn(gateway_core, 'tracing-cost.ts', [], variables);
    return ((await child.message(patience_ms)) as { tracing_us: number }).tracing_us;
  };
  return [
    { title: 'metrics, alone', added_us: metrics_us },
    { title: 'tracing that is off, alone', added_us: await tracing_us({}) },
    {
      title: 'tracing, every exchange sent, alone',
      added_us: await tracing_us({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }),
    },
  ];
}
