import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { ask, streamed,  } from '../../support/chat-completions.ts'

t.test('choices are numbered as requested, whatever the server calls them', async t => {
  const choice = (index: unknown): string => JSON.stringify({ id: '1', choices: [{ index, delta: { content: String(index) }, finish_reason: 'stop' }] })
  const choicesOf = (indexes: readonly unknown[], n?: number): unknown => streamed(indexes.map(index => `data: ${choice(index)}\n\n`).join(''), n === undefined ? {} : { n })
    .filter(event => event.type === 'text-delta').map(event => [event.choice, event.text])
  t.same(choicesOf([5]), [[0, '5']])
  t.same(choicesOf([1, 0], 2), [[1, '1'], [0, '0']])
  t.same(choicesOf([-1, 7, 8], 2), [[0, '-1'], [1, '7']])
  t.same(choicesOf([0, 1, 2, 3], 1), [[0, '0']])
})

t.test('a tier that the contract does not name is left out', async t => {
  const head = (tier: string): unknown => readResponse(chatCompletions, { service_tier: tier, choices: [{ message: { content: 'a' } }] }, ask())[0]
  t.same(head('on_demand'), { type: 'response-start' })
  t.same(head('priority'), { type: 'response-start', serviceTier: 'priority' })
})
