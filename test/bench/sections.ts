/** The sections of docs/performance.md that the benchmark writes, and what each is measured with. All of them take about 15 minutes. */
export const sections: Readonly<Record<string, string>> = {
  gateways: '--tables gateways --rounds 7 --seconds 0.5',
  streams: '--tables gateways --only http-proxy-middleware,sluice --streams 1000 --rounds 5 --seconds 1',
  passthrough: '--tables passthrough,batches --rounds 9 --seconds 0.5',
  parts: '--tables parts --streams 0 --rounds 9 --seconds 0.5',
  ladder: '--tables ladder --rounds 7 --seconds 0.4',
};

/** `page` with `text` between `<!-- bench: NAME -->` and the next `<!-- end -->`. Throws if the page has no such section. */
export function withSection(page: string, name: string, text: string): string {
  const begin = `<!-- bench: ${name} -->`;
  const end = '<!-- end -->';
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`the page has no section ${begin} … ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
