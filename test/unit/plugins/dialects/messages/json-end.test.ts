import { describe, expect, it } from '@jest/globals';
import { JsonEnd } from '../../../../../plugins/dialects/messages/json-end.ts';

describe('the end of a JSON object that comes in pieces', () => {
  it.each([
    ['{"a":1}', ' rest'],
    [' \n\t{"a":"}"}', '}'],
    ['{"a":"\\"}"}', '{}'],
    ['{"a":"\\\\"}', '"}'],
    ['{"a":[{"b":"]"}]}', ''],
  ])('is that of %j before %j, wherever it is cut', (object, rest) => {
    const text = object + rest;
    for (let cut = 0; cut <= text.length; cut++) {
      const end = new JsonEnd();
      const first = end.push(text.slice(0, cut));
      expect(end.isCut).toBe(object.slice(0, cut).includes('{') && cut < object.length);
      const second = end.push(text.slice(first));
      expect([first + second, end.isWhole, end.isCut]).toEqual([object.length, true, false]);
    }
  });

  it.each(['[1]', '"a"', 'x{}'])('is never found in %j, which is no object', text => {
    const end = new JsonEnd();
    expect([end.push(text), end.isWhole, end.isCut]).toEqual([0, false, false]);
  });
});
