import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  keyLimitsFrom,
  limitFields,
  limitTexts,
  overridesFrom,
} from '../../../../plugins/dashboard/view/limit-fields.ts';
import { formFields } from '../../../support/dashboard-visitor.ts';

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields);
const raised = { limit: 90_000, until: '2027-01-31T18:00:00Z' };
const limits = {
  time_zone: 'Asia/Tokyo',
  requests_per_minute: { limit: 5 },
  requests_per_month: { limit: 400, start_day: 15, time_zone: 'Europe/Berlin', soft: true },
  tokens_per_minute: { limit: 20_000, hard: true },
  tokens_per_day: null,
  tokens_per_week: { limit: 7000, start_day: 'sunday', raised },
  usd_per_month: { limit: '5.50', hard: false },
  usd_per_day: '12.345',
  models: { 'v/one': { tokens_per_day: 7 } },
};

describe('the fields of limits', () => {
  it('leave every limit as it was when they are sent as a browser shows them', () => {
    const page = `<form>${limitFields({ id: 'l', limits, seesMoney: true }).text}</form>`;
    const sent = form(formFields(page, 'name="requests_per_minute"'));
    expect(sent.get('tokens_per_week.start_day')).toBe('sunday');
    expect(overridesFrom(sent, limits, true)).toEqual({ limits });
  });

  it('change the part that was edited, and leave the others of that limit', () => {
    const edits = {
      tokens_per_week: '8k',
      'tokens_per_minute.at_limit': 'estimate',
      'requests_per_month.start_day': '1',
      'requests_per_minute.at_limit': 'soft',
      'usd_per_month.time_zone': 'America/Lima',
      'usd_per_day.at_limit': 'soft',
      tokens_per_day: '1,000',
    };
    expect(overridesFrom(form({ ...limitTexts(limits, true), ...edits }), limits, true)).toEqual({
      limits: {
        ...limits,
        tokens_per_week: { ...limits.tokens_per_week, limit: 8000 },
        tokens_per_minute: 20_000,
        requests_per_month: { ...limits.requests_per_month, start_day: 1 },
        requests_per_minute: { limit: 5, soft: true },
        usd_per_month: { limit: '5.50', hard: false, time_zone: 'America/Lima' },
        usd_per_day: { limit: '12.345', soft: true },
        tokens_per_day: 1000,
      },
    });
  });

  it('read what was typed as people type it, and lift or leave out what they say', () => {
    const typed = {
      requests_per_day: '400 000',
      usd_per_month: '$1,000.50',
      tokens_total: 'None',
      usd_total: '2k',
    };
    expect(overridesFrom(form(typed), {}, true)).toEqual({
      limits: { requests_per_day: 400_000, usd_per_month: '1000.50', tokens_total: null, usd_total: 2000 },
    });
    expect(overridesFrom(form({ tokens_per_week: '', usd_per_day: '' }), limits, true)).toEqual({
      limits: expect.not.objectContaining({
        tokens_per_week: expect.anything(),
        usd_per_day: expect.anything(),
      }),
    });
  });

  it('begin with how the limit of the plan counts, and keep that beside another amount', () => {
    const plan = { tokens_per_month: { limit: 9, start_day: 15, hard: true, raised }, usd_per_day: 5 };
    const page = `<form>${limitFields({ id: 'l', limits: {}, seesMoney: true, otherwise: plan }).text}</form>`;
    const fields = formFields(page, 'name="tokens_per_month"');
    expect(overridesFrom(form(fields), {}, true, plan)).toEqual({ limits: {} });
    expect(
      overridesFrom(form({ ...fields, tokens_per_month: '2k', usd_per_day: '7' }), {}, true, plan),
    ).toEqual({
      limits: { tokens_per_month: { limit: 2000, start_day: 15, hard: true }, usd_per_day: 7 },
    });
  });

  it('keep limits in dollars of people who do not see them, whatever is sent', () => {
    const sent = form({ usd_per_month: '1', 'usd_per_month.at_limit': 'soft', requests_per_minute: '6' });
    expect(overridesFrom(sent, limits, false)).toEqual({
      limits: { ...limits, requests_per_minute: 6 },
    });
    expect(limitFields({ id: 'l', limits, seesMoney: false }).text).not.toContain('usd_');
  });

  it('tell what is wrong at the field that has it', () => {
    const sent = {
      requests_per_minute: '-1',
      requests_per_day: '0',
      tokens_per_day: '1,5',
      'tokens_per_week.time_zone': 'Berlin',
      'requests_per_month.at_limit': 'soft',
      usd_per_month: '5 hard',
    };
    const read = keyLimitsFrom(form(sent), { tokens_per_week: 1 }, true);
    expect('faults' in read && Object.fromEntries(read.faults)).toEqual({
      requests_per_minute: expect.stringContaining('“-1” cannot be read: write a whole number'),
      requests_per_day: 'must be above 0, not 0',
      tokens_per_day: expect.stringContaining('400 000, 1,000, 400k or 2M'),
      'tokens_per_week.time_zone': expect.stringContaining('Europe/Berlin'),
      requests_per_month: 'Type the amount as well.',
      usd_per_month: expect.stringContaining('write dollars'),
    });
  });

  it('give any limit back that can be stored', () => {
    const rule = fc.record(
      {
        limit: fc.integer({ min: 1 }),
        hard: fc.boolean(),
        start_day: fc.integer({ min: 1, max: 28 }),
        time_zone: fc.constantFrom('Europe/Berlin', 'UTC'),
        raised: fc.constant(raised),
      },
      { requiredKeys: ['limit'] },
    );
    fc.assert(
      fc.property(fc.oneof(rule, fc.integer({ min: 1 })), tokens_per_month => {
        const stored = { tokens_per_month };
        expect(overridesFrom(form(limitTexts(stored, true)), stored, true)).toEqual({ limits: stored });
      }),
    );
  });
});
