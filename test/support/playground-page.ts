import type { Locator } from 'playwright-core';
import type { WatchedPage } from './browser.ts';

/** The playground of a browser window, as people use it. */

export const promptOf = ({ page }: WatchedPage): Locator =>
  page.getByRole('textbox', { name: 'Prompt', exact: true });

/** Waits until the script has filled in what it keeps. */
export const ready = ({ page }: WatchedPage): Promise<void> => page.locator('#send:enabled').waitFor();

export async function ask(watched: WatchedPage, prompt: string): Promise<void> {
  await promptOf(watched).fill(prompt);
  await watched.page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** The answer that came last; the one before it with `back` 1. */
export const answer = ({ page }: WatchedPage, back = 0): Locator =>
  page.locator('article.answer').nth(-1 - back);

/** Waits until the state of the last answer has this text. */
export const said = (watched: WatchedPage, text: string, back = 0): Promise<void> =>
  answer(watched, back).locator('.state').getByText(text).waitFor();

/** A figure below an answer. */
export const used = (watched: WatchedPage, name: string, back = 0): Promise<string | null> =>
  answer(watched, back).locator(`[data-used="${name}"]`).textContent();

export const textOf = (watched: WatchedPage, back = 0): Promise<string | null> =>
  answer(watched, back).locator('.text').textContent();
