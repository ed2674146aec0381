import type { Tool } from './tool.ts';

/** A tool in the list; its modules are loaded when it is started. */
interface ListedTool {
  readonly what: string;
  load(): Promise<Tool>;
}

const table = (name: string, what: string): [string, ListedTool] => [
  name,
  { what, load: async () => (await import('./bench/gateways.ts')).tableTool(name) },
];
const one = (
  name: string,
  what: string,
  load: () => Promise<{ readonly tool: Tool }>,
): [string, ListedTool] => [name, { what, load: async () => (await load()).tool }];

/** Every tool by the npm script and the name that start it: `npm run bench -- growth`. */
export const allTools: Readonly<Record<string, ReadonlyMap<string, ListedTool>>> = {
  bench: new Map([
    table('gateways', 'sluice beside other gateways, on one core'),
    table('workers', 'one process beside two workers'),
    table('v8', 'options of V8 beside none'),
    one('cost', 'what a request and an event allocate, call and create', () => import('./bench/cost.ts')),
    one('growth', 'cost against the size of what is given', () => import('./bench/growth.ts')),
    one('dashboard', 'the pages over a large store', () => import('./bench/dashboard.ts')),
  ]),
  drill: new Map([
    one('chaos', 'gateways under load while everything fails', () => import('./chaos/chaos.ts')),
    one('alerts', 'every alert provoked, in a real Prometheus', () => import('./alerts/alerts.ts')),
    one('mutants', 'small bugs, and which no test notices', () => import('./mutants/mutants.ts')),
    one('recipes', 'manifests against the published schemas', () => import('./recipes/schemas.ts')),
    one('pictures', 'the pictures of docs/dashboard', () => import('./pictures/dashboard.ts')),
    one('grafana-pictures', 'those of grafana/pictures', () => import('./pictures/grafana.ts')),
  ]),
};
