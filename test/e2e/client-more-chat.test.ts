import { describe } from '@jest/globals';
import { showsEssentials } from '../support/clients/essentials.ts';
import { clientFacts } from '../support/clients/facts.ts';
import { clientHouses } from '../support/clients/house.ts';
import { openAi6Chat } from '../support/clients/openai.ts';
import { openAi6Responses } from '../support/clients/openai-responses.ts';
import { tanStackChat, tanStackResponses } from '../support/clients/tanstack.ts';
import { vercelOpenAiChat, vercelOpenRouter } from '../support/clients/vercel.ts';

const houses = clientHouses(
  [clientFacts.openAi6Chat, openAi6Chat],
  [clientFacts.openAi6Responses, openAi6Responses],
  [clientFacts.vercelOpenRouter, vercelOpenRouter],
  [clientFacts.vercelOpenAiChat, vercelOpenAiChat],
  [clientFacts.tanStackChat, tanStackChat],
  [clientFacts.tanStackResponses, tanStackResponses],
);

describe.each(houses.map(house => ({ ...house.facts, name: house.facts.packages.at(-1), house })))(
  '$client ($name) on $endpoint',
  ({ house }) => showsEssentials(house),
);
