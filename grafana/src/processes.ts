import type { Row } from './layout.ts';
import { count, type Expr, max, of, promql, quantile, rate, sum } from './promql.ts';

const instance = '{{instance}}';
const ofEach = (gauge: string) => max(of(gauge), 'instance');
const ofLimit = (used: Expr, limit: string) =>
  max(promql`${used} / on (job, instance) ${of(limit)}`, 'instance');
/** By instance, which may have several processes: its memory is all of theirs, and the fullest heap ends its process. */
const memory = sum(of('process_resident_memory_bytes'), 'job', 'instance');
const heap = max(of('nodejs_heap_size_used_bytes'), 'job', 'instance');

/** Each instance on its own: how full it is, what it runs, and what it had to drop. */
export const processes: readonly Row[] = [
  {
    id: 33,
    title: 'Instances',
    across: 3,
    panels: [
      {
        id: 34,
        kind: 'series',
        title: 'Event-loop delay',
        description:
          'How late each instance was at most, up to the bound of its bucket. Above 50 ms every stream stutters: more instances, or a stage that blocks.',
        unit: 's',
        queries: { [instance]: quantile(1, of('sluice_event_loop_delay_seconds'), 'instance') },
        thresholds: { warn: 0.05, bad: 0.25 },
      },
      {
        id: 35,
        kind: 'series',
        title: 'CPU',
        description:
          'Cores in use by each instance. Requests run on one of them, or with server.workers on one for each worker.',
        unit: 'short',
        queries: { [instance]: rate(of('process_cpu_seconds_total'), 'instance') },
      },
      {
        id: 36,
        kind: 'stacked',
        title: 'In flight by endpoint',
        description: 'Requests that have begun and are not settled.',
        unit: 'short',
        queries: { '{{endpoint}}': sum(of('sluice_in_flight'), 'endpoint') },
      },
      {
        id: 37,
        kind: 'series',
        title: 'Memory',
        description:
          'Resident memory of each instance, and the JavaScript heap in it. It may grow with streams in flight and must not with time.',
        unit: 'bytes',
        queries: {
          '{{instance}} resident': sum(of('process_resident_memory_bytes'), 'instance'),
          '{{instance}} heap': ofEach('nodejs_heap_size_used_bytes'),
        },
      },
      {
        id: 38,
        kind: 'series',
        title: 'Memory of limits',
        description:
          "Resident memory as a share of the container's or machine's, where the kernel kills it; the heap of V8's limit, where it ends itself.",
        unit: 'percentunit',
        queries: {
          '{{instance}} resident': ofLimit(memory, 'sluice_memory_limit_bytes'),
          '{{instance}} heap': ofLimit(heap, 'sluice_heap_limit_bytes'),
        },
        thresholds: { warn: 0.75, bad: 0.9 },
      },
      {
        id: 39,
        kind: 'series',
        title: 'Request bodies in memory',
        description: 'Bytes from their arrival to the end of their exchange; bounded by max_buffered_bytes.',
        unit: 'bytes',
        queries: { [instance]: ofEach('sluice_buffered_request_bytes') },
      },
      {
        id: 40,
        kind: 'stacked',
        title: 'Versions',
        description: 'Instances by the version that they run. Two for long are a roll-out that did not end.',
        unit: 'short',
        queries: { '{{version}}': count(of('sluice_build_info'), 'version') },
      },
      {
        id: 41,
        kind: 'series',
        title: 'Age of the configuration',
        description:
          'Since it was loaded or reloaded. Instances that differ for long may run different configurations.',
        unit: 's',
        queries: { [instance]: promql`time() - ${ofEach('sluice_config_loaded_timestamp_seconds')}` },
      },
      {
        id: 47,
        kind: 'stacked',
        title: 'Reloads',
        description: 'Reloads of the configuration. A refused one changes nothing; the log has its mistakes.',
        unit: 'ops',
        queries: { '{{result}}': rate(of('sluice_config_reloads_total'), 'result') },
      },
      {
        id: 42,
        kind: 'series',
        title: 'Background reads',
        description:
          'Replies that are read to their end for the bill alone, after a 524 or a client that left.',
        unit: 'short',
        queries: { reads: sum(of('sluice_background_reads')) },
      },
      {
        id: 43,
        kind: 'stacked',
        title: 'Request bodies refused',
        description:
          'Answered 502 because a bound of the bytes in memory was reached, of one account or of all.',
        unit: 'reqps',
        queries: { '{{bound}}': rate(of('sluice_buffer_refusals_total'), 'bound') },
      },
      {
        id: 44,
        kind: 'stacked',
        title: 'Spans to the collector',
        description:
          'Of instances that send traces. Dropped: the collector is down, refuses them, or is slower than they come.',
        unit: 'ops',
        queries: {
          sent: rate(of('sluice_spans_sent_total')),
          'dropped: {{reason}}': rate(of('sluice_spans_dropped_total'), 'reason'),
        },
      },
      {
        id: 45,
        kind: 'series',
        title: 'Log lines dropped',
        description: 'Lines per second that were lost because standard output was not read in time.',
        unit: 'ops',
        queries: { [instance]: rate(of('sluice_log_dropped_lines_total'), 'instance') },
      },
      {
        id: 46,
        kind: 'stacked',
        title: 'TLS handshakes failed',
        description:
          'On the listeners of sidecars, by reason. Closed: mostly probes that only open a connection.',
        unit: 'ops',
        queries: {
          '{{listener}}: {{reason}}': rate(
            of('sluice_listener_handshake_failures_total'),
            'listener, reason',
          ),
        },
      },
      {
        id: 48,
        kind: 'series',
        title: 'Workers',
        description:
          'Processes of server.workers by state, and those per second that ended by themselves and were replaced; the log has how.',
        unit: 'short',
        queries: {
          '{{state}}': sum(of('sluice_workers'), 'state'),
          replaced: rate(of('sluice_worker_restarts_total')),
        },
      },
    ],
  },
];
