import t from 'tap'
import { body } from '../../support/anthropic-answers.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'

/** A tool loop whose first turn did not think. */
const loop: ChatInput['messages'] = [
  { role: 'user', content: 'Boat?' },
  {
    role: 'assistant',
    tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'now', arguments: '{}' } }]
  },
  { role: 'tool', tool_call_id: 'toolu_1', content: '10:05' }
]
const prefill: ChatInput['messages'][number] = { role: 'assistant', content: 'The' }

t.test('without a limit a known model may write 32,000 tokens, or its maximum if that is lower', async t => {
  for (const [model, request, limit] of [
    ['claude-haiku-4-5', {}, 32_000],
    ['claude-haiku-4-5', { reasoning_effort: 'max' }, 32_000],
    ['claude-opus-5', { reasoning_effort: 'high' }, 32_000],
    ['claude-opus-5', { thinking: { type: 'adaptive' } }, 32_000],
    ['claude-3-5-sonnet-20241022', {}, 8192],
    ['claude-3-opus-20240229', {}, 4096],
    ['claude-haiku-4-5', { max_tokens: 50_000 }, 50_000],
    ['claude-haiku-4-5', { max_completion_tokens: 70_000 }, 64_000]
  ] as const) {
    t.equal(body(request, model).max_tokens, limit, `${model} ${JSON.stringify(request)}`)
  }
})

t.test('a thinking budget without a limit leaves 4,096 tokens for the answer', async t => {
  const limitFor = (tokens: number, model?: string): number =>
    body({ thinking: { type: 'enabled', budget_tokens: tokens } }, model).max_tokens
  t.equal(limitFor(2000), 32_000)
  t.equal(limitFor(31_999), 36_095)
  t.equal(limitFor(63_000), 64_000, 'fewer where the maximum of the model is reached')
  t.equal(limitFor(2000, 'another-vendors-model'), 6096)
})

t.test('without a limit a model of unknown maximum may write 4,096 tokens beside its thinking', async t => {
  t.equal(body({}, 'another-vendors-model').max_tokens, 4096)
  t.match(body({ reasoning_effort: 'high' }, 'another-vendors-model'), {
    max_tokens: 8192,
    thinking: { budget_tokens: 4096 }
  })
})

t.test('a forced tool turns thinking off', async t => {
  const { thinking, tool_choice: choice } = body({
    reasoning_effort: 'high',
    tools: [{ function: { name: 'now' } }],
    tool_choice: 'required'
  })
  t.strictSame([thinking, choice], [undefined, { type: 'any' }])
})

t.test('adaptive models keep their effort in a tool loop that began without thinking', async t => {
  for (const model of ['claude-opus-4-6', 'claude-opus-4-8', 'claude-opus-5', 'claude-sonnet-5-5']) {
    t.match(
      body({ reasoning_effort: 'high', messages: loop }, model),
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
      model
    )
  }
  t.equal(
    body({ reasoning_effort: 'high', messages: loop }, 'claude-haiku-4-5').thinking,
    undefined,
    'a budget would need thinking at the start of the turn'
  )
})

t.test('an answer that the caller has begun is continued without thinking', async t => {
  for (const model of ['claude-haiku-4-5', 'claude-opus-4-6', 'claude-opus-5']) {
    for (const messages of [[...loop.slice(0, 1), prefill], [...loop, prefill]]) {
      const { thinking, output_config: config } = body({ reasoning_effort: 'high', messages }, model)
      t.strictSame([thinking, config], [undefined, undefined], model)
    }
  }
})

t.test('the effort `none` turns thinking off in models that think by default', async t => {
  const sent = (model: string): readonly unknown[] => {
    const { thinking, output_config: config } = body({ reasoning_effort: 'none' }, model)
    return [thinking, config]
  }
  for (const model of ['claude-opus-5', 'claude-sonnet-5', 'claude-haiku-5-5', 'claude-of-the-future']) {
    t.strictSame(sent(model), [{ type: 'disabled' }, undefined], model)
  }
  for (const model of [
    'claude-opus-5-5',
    'claude-sonnet-5-5',
    'claude-fable-5',
    'claude-fable-5-1',
    'claude-mythos-5',
    'claude-mythos-5-1'
  ]) {
    t.strictSame(sent(model), [undefined, { effort: 'low' }], `${model} cannot stop`)
  }
  for (const model of [
    'claude-opus-4-8',
    'claude-opus-4-7',
    'claude-opus-4-6',
    'claude-sonnet-4-6',
    'claude-haiku-4-5',
    'claude-3-5-sonnet-20241022',
    'another-vendors-model'
  ]) {
    t.strictSame(sent(model), [undefined, undefined], `${model} does not think unless asked`)
  }
})

t.test(
  'adaptive models get no thinking budget, and show thinking as models with a budget do',
  async t => {
    const budget = { type: 'enabled', budget_tokens: 2000 } as const
    for (const model of [
      'claude-opus-4-7',
      'claude-opus-4-8',
      'claude-opus-5',
      'claude-sonnet-5',
      'claude-opus-5-5',
      'claude-fable-5',
      'claude-of-the-future'
    ]) {
      t.strictSame(
        body({ thinking: budget, max_tokens: 8000 }, model).thinking,
        { type: 'adaptive', display: 'summarized' },
        model
      )
      t.strictSame(
        body({ thinking: { ...budget, display: 'omitted' }, max_tokens: 8000 }, model).thinking,
        { type: 'adaptive', display: 'omitted' },
        model
      )
    }
    for (const model of ['claude-opus-4-6', 'claude-sonnet-4-6', 'claude-haiku-4-5', 'claude-opus-4-1']) {
      t.strictSame(body({ thinking: budget, max_tokens: 8000 }, model).thinking, budget, model)
    }
  }
)

t.test('thinking is shown to callers who ask for it', async t => {
  t.strictSame(body({ thinking: { type: 'adaptive', display: 'summarized' } }, 'claude-opus-4-8').thinking, {
    type: 'adaptive',
    display: 'summarized'
  })
  t.strictSame(body({ reasoning_effort: 'high', showsThinking: true }, 'claude-opus-4-8').thinking, {
    type: 'adaptive',
    display: 'summarized'
  })
  t.strictSame(body({ reasoning_effort: 'high' }, 'claude-opus-4-8').thinking, { type: 'adaptive' })
  t.strictSame(body({ showsThinking: true }, 'claude-opus-4-8').thinking, undefined, 'where it thinks')
})

t.test('the effort is reduced to one that the model supports', async t => {
  for (const [model, wish, effort] of [
    ['claude-opus-4-8', 'max', 'max'],
    ['claude-opus-4-8', 'xhigh', 'xhigh'],
    ['claude-opus-4-6', 'xhigh', 'high'],
    ['claude-opus-4-6', 'max', 'max'],
    ['claude-sonnet-4-6', 'max', 'max'],
    ['claude-sonnet-4-6', 'xhigh', 'high'],
    ['claude-opus-5', 'minimal', 'low'],
    ['claude-opus-5', 'none', undefined],
    ['claude-fable-5', 'none', 'low']
  ] as const) {
    t.equal(body({ reasoning_effort: wish }, model).output_config?.effort, effort, `${model} ${wish}`)
  }
})

t.test('an adaptive model goes on thinking after a turn in which it thought late', async t => {
  const look = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } } as const
  const thinkingOf = (model: string, order: { turn_order: readonly string[] }): unknown => body({
    reasoning_effort: 'high',
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: 'I look.',
        thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }],
        tool_calls: [look],
        ...order
      },
      { role: 'tool', tool_call_id: 'a', content: 'seen' }
    ]
  }, model).thinking
  t.match(thinkingOf('claude-opus-4-8', { turn_order: ['text', 'thinking', 'call'] }), { type: 'adaptive' })
  t.equal(thinkingOf('claude-haiku-4-5', { turn_order: ['text', 'thinking', 'call'] }), undefined)
  t.match(thinkingOf('claude-haiku-4-5', { turn_order: ['thinking', 'text', 'call'] }), { type: 'enabled' })
})
