import { describe } from '@jest/globals';
import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { openAiResponses } from '../support/clients/openai-responses.ts';
import { showsReplies } from '../support/clients/replies.ts';

describe('the OpenAI SDK over responses with its default settings', () => {
  const house = clientHouse(clientFacts.openAiResponses, openAiResponses);
  showsReplies(house);
  raisesFailures(house);
});

describe('the OpenAI SDK over responses with reasoning as a summary', () => {
  showsReplies(clientHouse(clientFacts.openAiSummaries, openAiResponses));
});
