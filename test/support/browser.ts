import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { operator } from './dashboard-visitor.ts';
import { pathOf } from './programs.ts';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Names beyond this machine do not resolve.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

/** The distribution's Chromium, without a window and with a profile of its own. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: pathOf('chromium'), args: flags });
}

const height = 800;

/** The axe-core tags of every WCAG rule up to 2.2 AA, and of its best practices. */
const everyRule = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice'];

interface Look {
  readonly colorScheme?: 'dark';
  readonly forcedColors?: 'active';
  readonly width: number;
  /** The rules of axe-core that this look can break where others do not; none but our own checks without. */
  readonly rules?: object;
}

/** How the window is in which pages are checked. */
const looksOf = {
  light: { width: 1200, rules: everyRule },
  /** As on a telephone at night. */
  dark: {
    colorScheme: 'dark',
    width: 400,
    rules: {
      type: 'rule',
      values: ['color-contrast', 'link-in-text-block', 'target-size', 'scrollable-region-focusable'],
    },
  },
  /** 1,200 pixels at 200 %, in colours of the system. */
  forced: { width: 600, forcedColors: 'active' },
} as const satisfies Readonly<Record<string, Look>>;

async function setLook(page: Page, { width, ...look }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', reducedMotion: 'reduce', ...look });
  await page.setViewportSize({ width, height });
  // Charts follow the width some frames later.
  await page.evaluate(`document.querySelector('canvas') && new Promise(done => {
    let frames = 10;
    const next = () => (frames-- > 0 ? requestAnimationFrame(next) : done());
    next();
  })`);
}

/** A window and what has gone wrong in it. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts and of the console, and requests to other hosts. */
  readonly faults: string[];
}

/** A fresh profile with one window. Errors that say an answer's status are expected where a test provokes them: they name the status. */
export async function watchedPage(
  browser: Browser,
  options: { readonly width?: number; readonly dark?: boolean } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? looksOf.light.width, height },
    colorScheme: options.dark ? 'dark' : 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const faults: string[] = [];
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', error => faults.push(`script: ${error.message}`));
  context.on('request', request => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol !== 'data:' && hostname !== '127.0.0.1') faults.push(`request: ${request.url()}`);
  });
  return { page, context, faults };
}

/** Fills in the sign-in that is shown. */
export async function signIn(
  page: Page,
  password: string = operator.password,
  name: string = operator.name,
): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const ownChecks = readFileSync(new URL('page-faults.js', import.meta.url), 'utf8');

/** Without what no rule above needs: styles and media that are fetched again, other documents, and what names each element. */
const less = { resultTypes: ['violations'], preload: false, iframes: false, selectors: false };
const asking = (runOnly: object) => `axe.run(document, ${JSON.stringify({ runOnly, ...less })})`;

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
  readonly passes: readonly unknown[];
}

/** As a debugger does: the page's own policy for scripts does not hold for it, and half a megabyte is compiled once for all pages. */
async function load(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: `${axe};0` });
  await session.detach();
}

/**
 * What axe-core finds. Of rows and options that are built alike it is given the first and the last only:
 * it takes two seconds for a hundred, and finds in all what it finds in one.
 */
async function axeFaults(page: Page, rules: object): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await load(page);
  const { violations, passes } = await page.evaluate<AxeResults>(`{
    const form = row => [row, ...row.querySelectorAll('*')].map(({ tagName, className, type }) => [tagName, className, type]).join();
    const alike = [...document.querySelectorAll('tbody, select, datalist')].flatMap(({ children }) => {
      const forms = [...children].map(form);
      return [...children].filter((row, at) => !row.selected && forms.indexOf(forms[at]) !== at && forms.lastIndexOf(forms[at]) !== at);
    });
    const places = alike.map(row => [row.parentNode, row, row.nextSibling]).reverse();
    for (const row of alike) row.remove();
    ${asking(rules)}.finally(() => {
      for (const [parent, row, next] of places) if (!next || next.parentNode === parent) parent.insertBefore(row, next);
    });
  }`);
  if (rules === everyRule && passes.length < 10)
    throw new Error(`axe-core has looked at ${passes.length} things only`);
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${help}: ${html}: ${failureSummary}`),
  );
}

type Looks = readonly (keyof typeof looksOf)[];
export const everyLook = Object.keys(looksOf) as unknown as Looks;

/** Accessibility faults of the current page in each of these looks, each with the look's name. */
export async function faultsOf(page: Page, looks: Looks = ['light']): Promise<string[]> {
  const all: string[] = [];
  for (const name of looks) {
    const look: Look = looksOf[name];
    await setLook(page, look);
    const faults = [
      ...(look.rules ? await axeFaults(page, look.rules) : []),
      // What axe-core does not look for.
      ...(await page.evaluate<string[]>(ownChecks)),
    ];
    all.push(...faults.map(fault => `${name}: ${fault}`));
  }
  if (looks.at(-1) !== 'light') await setLook(page, looksOf.light);
  return all;
}
