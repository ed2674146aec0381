/** What a section of docs/performance.md is measured with. */
interface Section {
  /** Program in test/bench that writes its tables and figures with `--json`; `run.ts`, unless said. */
  readonly program?: string;
  /** Its npm script. */
  readonly script?: string;
  readonly options: string;
}

/** The sections of docs/performance.md that the benchmark writes. All of them take about 25 minutes. */
export const sections: Readonly<Record<string, Section>> = {
  gateways: { options: '--tables gateways --rounds 9 --seconds 0.5' },
  streams: {
    options:
      '--tables gateways --only http-proxy-middleware,sluice --connections 0 --streams 1000 --rounds 5 --seconds 1',
  },
  'most-streams': {
    options: '--tables gateways --only sluice --connections 0 --streams 1500 --rounds 5 --seconds 2',
  },
  latency: { program: 'latency.ts', script: 'bench:latency', options: '--rounds 7 --seconds 2' },
  mounted: { options: '--tables mounted --streams 0 --rounds 9 --seconds 0.5' },
  workers: { options: '--tables workers --streams 0 --rounds 9 --seconds 0.5' },
  passthrough: { options: '--tables passthrough,batches --rounds 9 --seconds 0.5' },
  parts: { options: '--tables parts --streams 0 --rounds 9 --seconds 0.5' },
  ladder: { options: '--tables ladder --rounds 40 --seconds 0.2 --streams 0' },
  'ladder-events': { options: '--tables ladder --rounds 15 --seconds 0.25 --connections 0' },
};

/** The command of a section, as it is typed. */
export const commandOf = ({ script = 'bench', options }: Section): string =>
  `npm run ${script} -- ${options}`;

/** `page` with `text` between `<!-- bench: NAME -->` and the next `<!-- end -->`. Throws if the page has no such section. */
export function withSection(page: string, name: string, text: string): string {
  const begin = `<!-- bench: ${name} -->`;
  const end = '<!-- end -->';
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`the page has no section ${begin} … ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
