import t from 'tap'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { googleAsk } from '../../support/google.ts'

t.test('a token that is part of a character has no bytes', async t => {
  const [, text] = readResponse(
    googleChat,
    {
      candidates: [
        {
          finishReason: 'STOP',
          logprobsResult: { chosenCandidates: [{ token: '\uFFFD', logProbability: -1 }] }
        }
      ]
    },
    googleAsk()
  )
  t.same(text, {
    type: 'text-delta',
    choice: 0,
    text: '',
    logprobs: { content: [{ token: '\uFFFD', logprob: -1, bytes: null, top_logprobs: [] }] }
  })
})
