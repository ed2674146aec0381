import { describe } from '@jest/globals';
import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { langChainResponses } from '../support/clients/langchain.ts';
import { showsReplies } from '../support/clients/replies.ts';

describe('LangChain over responses with its default settings', () => {
  const house = clientHouse(clientFacts.langChainResponses, langChainResponses);
  showsReplies(house);
  raisesFailures(house);
});
