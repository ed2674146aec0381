import { alertRules } from '../alerts-page.ts';
import { days, numbersIn } from '../constants.ts';
import type { Bound } from '../numbers.ts';

const page = (name: string): string => `docs/how-to/${name}.md`;

const [slots, context] = numbersIn(page('llama-cpp'), /--parallel (\d+) --ctx-size (\d+)/) as [
  number,
  number,
];
const [scrape_s, rules_s] = numbersIn(
  page('grafana-and-alerts'),
  /scrape_interval: (\d+)s, evaluation_interval: (\d+)s/,
) as [number, number];
const wait = alertRules.find(({ alert }) => alert === 'SluiceErrors')?.for;
// The requests are scraped; they are recorded, begin the wait of the alert and end it at the next evaluation of each.
const firing_s = scrape_s + 3 * rules_s + 60 * Number(/^(\d+)m$/.exec(wait ?? '')?.[1]);

/** Numbers of recipes whose blocks have them, and are run. */
export const recipeBounds: readonly Bound[] = [
  {
    says: 'the budget of {} cent',
    is: 100 * numbersIn(page('customer-budgets'), /trial: \{ usd_per_month: "([\d.]+)"/)[0]!,
  },
  { says: 'each slot has an equal share, here {} tokens', is: context / slots },
  {
    says: 'The key allows {} requests per minute at both',
    is: numbersIn(page('several-instances'), /"requests_per_minute": (\d+)/),
  },
  { says: 'The old key works for {} days more', is: numbersIn(page('harden'), /--overlap (\d+)d/) },
  { says: 'It takes {} minutes at most', is: firing_s / 60 },
  { says: 'the log warns {} a day', is: days('src/cli/listener-certificate.ts', 'remind_ms') },
];
