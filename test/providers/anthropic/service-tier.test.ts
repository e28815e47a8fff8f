import t from 'tap'
import { anthropicChat } from '../../../lib/providers/anthropic/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { ask } from '../../support/anthropic-answers.ts'

t.test('the service tier of an answer has the name of our API', async t => {
  const tiers = ['standard', 'batch', 'priority', 'unheard of', null].map(tier => {
    const [head] = readResponse(anthropicChat, { content: [], usage: { service_tier: tier } }, ask())
    return head?.type === 'answer-start' ? head.serviceTier : 'no head'
  })
  t.strictSame(tiers, ['default', 'default', 'priority', undefined, undefined])
})
