import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { openAiChat } from '../support/clients/openai.ts';
import { showsReplies } from '../support/clients/replies.ts';

const house = clientHouse(clientFacts.openAiChat, openAiChat);

showsReplies(house);
raisesFailures(house);
