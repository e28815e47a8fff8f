import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { ask, streamed } from '../../support/chat-completions.ts'

t.test('inconsistent usage is raised to its sum, and numbers may be text', async t => {
  const usage = (given: object): unknown =>
    readResponse(chatCompletions, { choices: [{ message: { content: 'a' } }], usage: given }, ask()).at(-1)
  t.match(usage({ prompt_tokens: -3, completion_tokens: 2, total_tokens: -1 }), {
    usage: { promptTokens: 0, completionTokens: 2, totalTokens: 2 }
  })
  t.match(usage({ prompt_tokens: '3', completion_tokens: '2', total_tokens: '5' }), {
    usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 }
  })
})

t.test('a missing count is the rest of the total', async t => {
  const usage = (given: object): unknown =>
    readResponse(chatCompletions, { choices: [{ message: { content: 'a' } }], usage: given }, ask()).at(-1)
  t.match(usage({ prompt_tokens: null, completion_tokens: 2, total_tokens: 5 }), {
    usage: { promptTokens: 3, completionTokens: 2 }
  })
  t.match(usage({ prompt_tokens: 3, total_tokens: 5 }), { usage: { promptTokens: 3, completionTokens: 2 } })
  for (const one of [{ total_tokens: 5 }, { prompt_tokens: 5 }, { completion_tokens: 5 }]) {
    t.match(usage(one), { type: 'choice-end' }, 'what is missing is not free')
  }
})

t.test('usage is found wherever servers put it, and is not a field of a choice', async t => {
  const counts = { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 }
  const places: ReadonlyArray<readonly [object, object]> = [
    [{ usage: counts }, {}],
    [{ x_groq: { usage: counts } }, {}],
    [{ meta: { usage: counts } }, {}],
    [{}, { usage: counts }],
    [{}, { message: { content: 'a', usage: counts } }],
    [{ usage: null }, { usage: counts }],
    [{ usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }, { usage: counts }]
  ]
  for (const [ofAnswer, ofChoice] of places) {
    const events = readResponse(
      chatCompletions,
      { ...ofAnswer, choices: [{ message: { content: 'a' }, finish_reason: 'stop', ...ofChoice }] },
      ask()
    )
    t.match(events.at(-1), {
      type: 'usage',
      usage: { promptTokens: 11, completionTokens: 2, totalTokens: 13 }
    })
    t.equal(
      events.some(event => event.type === 'extra' && event.scope !== 'answer'),
      false
    )
  }
  const frame = (chunk: object): string => `data: ${JSON.stringify({ id: '1', ...chunk })}\n\n`
  const done = { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: counts }] }
  const none = { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }
  for (const last of [done, { choices: [{ index: 0, delta: { usage: counts }, finish_reason: 'stop' }] }]) {
    const events = streamed(
      frame({ choices: [{ index: 0, delta: { content: 'a' } }] }) + frame(last) + frame(none)
    )
    t.match(events.at(-1), { type: 'usage', usage: { promptTokens: 11 } }, 'zeros at the end are no report')
    t.equal(events.some(event => event.type === 'extra'), false)
  }
})

t.test('cached and reasoning tokens are read under every known name', async t => {
  const usage = (given: object): unknown =>
    readResponse(chatCompletions, { choices: [{ message: { content: 'a' } }], usage: given }, ask()).at(-1)
  const counts = { prompt_tokens: 100, completion_tokens: 5 }
  for (const cached of [
    { prompt_tokens_details: { cached_tokens: 80 } },
    { prompt_cache_hit_tokens: 80 },
    { cache_read_input_tokens: 80 },
    { cached_tokens: '80' },
    { prompt_tokens_details: { cached_tokens: null }, cache_read_input_tokens: 80 }
  ]) {
    t.match(usage({ ...counts, ...cached }), {
      usage: { promptTokens: 100, cachedTokens: 80, totalTokens: 105 }
    })
  }
  t.match(usage({ ...counts, cache_creation_input_tokens: 7 }), {
    usage: { promptTokens: 100, cacheWriteTokens: 7 }
  })
  t.match(usage({ ...counts, reasoning_tokens: 4 }), { usage: { reasoningTokens: 4 } })
  t.match(usage({ input_tokens: 100, output_tokens: 5, input_tokens_details: { cached_tokens: 80 } }), {
    usage: { promptTokens: 100, cachedTokens: 80, totalTokens: 105 }
  })
  t.match(usage({ input_tokens: 20, output_tokens: 5, cache_read_input_tokens: 80 }), {
    usage: { promptTokens: 100, cachedTokens: 80, totalTokens: 105 }
  })
})
