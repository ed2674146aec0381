import { type Row, row } from './layout.ts';
import { series, stacked } from './panel.ts';
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
  row(33, 'Instances', 3, [
    series(
      34,
      'Event-loop delay',
      's',
      'How late each instance was at most, up to the bound of its bucket. Above 50 ms every stream stutters: more instances, or a stage that blocks.',
      { [instance]: quantile(1, of('sluice_event_loop_delay_seconds'), 'instance') },
      { thresholds: { warn: 0.05, bad: 0.25 } },
    ),
    series(
      35,
      'CPU',
      'short',
      'Cores in use by each instance. Requests run on one of them, or with server.workers on one for each worker.',
      { [instance]: rate(of('process_cpu_seconds_total'), 'instance') },
    ),
    stacked(36, 'In flight by endpoint', 'short', 'Requests that have begun and are not settled.', {
      '{{endpoint}}': sum(of('sluice_in_flight'), 'endpoint'),
    }),
    series(
      37,
      'Memory',
      'bytes',
      'Resident memory of each instance, and the JavaScript heap in it. It may grow with streams in flight and must not with time.',
      {
        '{{instance}} resident': sum(of('process_resident_memory_bytes'), 'instance'),
        '{{instance}} heap': ofEach('nodejs_heap_size_used_bytes'),
      },
    ),
    series(
      38,
      'Memory of limits',
      'percentunit',
      "Resident memory as a share of the container's or machine's, where the kernel kills it; the heap of V8's limit, where it ends itself.",
      {
        '{{instance}} resident': ofLimit(memory, 'sluice_memory_limit_bytes'),
        '{{instance}} heap': ofLimit(heap, 'sluice_heap_limit_bytes'),
      },
      { thresholds: { warn: 0.75, bad: 0.9 } },
    ),
    series(
      39,
      'Request bodies in memory',
      'bytes',
      'Bytes from their arrival to the end of their exchange; bounded by max_buffered_bytes.',
      { [instance]: ofEach('sluice_buffered_request_bytes') },
    ),
    stacked(
      40,
      'Versions',
      'short',
      'Instances by the version that they run. Two for long are a roll-out that did not end.',
      { '{{version}}': count(of('sluice_build_info'), 'version') },
    ),
    series(
      41,
      'Age of the configuration',
      's',
      'Since it was loaded or reloaded. Instances that differ for long may run different configurations.',
      { [instance]: promql`time() - ${ofEach('sluice_config_loaded_timestamp_seconds')}` },
    ),
    stacked(50, 'Notices', 'ops', 'Attempts to deliver notices: sent, to be tried again, or given up.', {
      '{{kind}} {{result}}': rate(of('sluice_notices_deliveries_total'), 'kind', 'result'),
    }),
    series(51, 'Notices that wait', 'short', 'Deliveries that wait to be tried, of all instances.', {
      waiting: max(of('sluice_notices_waiting')),
    }),
    stacked(
      47,
      'Reloads',
      'ops',
      'Reloads of the configuration. A refused one changes nothing; the log has its mistakes.',
      { '{{result}}': rate(of('sluice_config_reloads_total'), 'result') },
    ),
    series(
      42,
      'Background reads',
      'short',
      'Replies that are read to their end for the bill alone, after a 524 or a client that left.',
      { reads: sum(of('sluice_background_reads')) },
    ),
    stacked(
      43,
      'Request bodies refused',
      'reqps',
      'Answered 502 because a bound of the bytes in memory was reached, of one account or of all.',
      { '{{bound}}': rate(of('sluice_buffer_refusals_total'), 'bound') },
    ),
    stacked(
      44,
      'Spans to the collector',
      'ops',
      'Of instances that send traces. Dropped: the collector is down, refuses them, or is slower than they come.',
      {
        sent: rate(of('sluice_spans_sent_total')),
        'dropped: {{reason}}': rate(of('sluice_spans_dropped_total'), 'reason'),
      },
    ),
    series(
      45,
      'Log lines dropped',
      'ops',
      'Lines per second that were lost because standard output was not read in time.',
      { [instance]: rate(of('sluice_log_dropped_lines_total'), 'instance') },
    ),
    stacked(
      46,
      'TLS handshakes failed',
      'ops',
      'On the listeners of sidecars, by reason. Closed: mostly probes that only open a connection.',
      {
        '{{listener}}: {{reason}}': rate(of('sluice_listener_handshake_failures_total'), 'listener, reason'),
      },
    ),
    series(
      48,
      'Workers',
      'short',
      'Processes of server.workers by state, and those per second that ended by themselves and were replaced; the log has how.',
      {
        '{{state}}': sum(of('sluice_workers'), 'state'),
        replaced: rate(of('sluice_worker_restarts_total')),
      },
    ),
  ]),
];
