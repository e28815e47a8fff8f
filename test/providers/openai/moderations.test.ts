import t from 'tap'
import { openaiModerations } from '../../../lib/providers/openai/moderations.ts'
import type { AdapterInput, ModerationInput } from '../../../lib/providers/provider.ts'

const input: AdapterInput<ModerationInput> = {
  request: { texts: ['a', 'b'] },
  route: { providerId: 'openai', modelId: 'openai/omni', model: 'omni' },
  quirks: {},
  streamed: false
}

function read (value: unknown): unknown {
  const reader = openaiModerations.read({ status: 200, headers: {} }, input)
  if (reader.as !== 'json') throw new Error('no JSON')
  return reader.read(value)
}

t.test('texts are sent unchanged, and each gets the categories that are true', t => {
  const { path, body } = openaiModerations.request(input)
  t.same([path, JSON.parse(String(body))], ['/moderations', { model: 'omni', input: ['a', 'b'] }])
  t.same(
    read({
      id: 'modr-1',
      model: 'omni',
      results: [
        {
          flagged: true,
          categories: { violence: true, 'self-harm/intent': true, hate: false },
          category_scores: { violence: 0.9 }
        },
        { categories: { pii: false } }
      ]
    }),
    [{ type: 'result', result: [{ categories: ['violence', 'self-harm/intent'] }, { categories: [] }] }]
  )
  t.end()
})

t.test('an answer without a result for a text is an error', t => {
  for (const value of [
    {},
    { results: [] },
    { results: [{ categories: {} }] },
    { results: [{ flagged: false }, { flagged: true }] },
    null
  ]) {
    t.throws(() => read(value), { code: 'upstream_invalid_response' })
  }
  t.end()
})
