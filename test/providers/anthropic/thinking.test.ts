import t from 'tap'
import { body } from '../../support/anthropic-answers.ts'

t.test('a forced tool turns thinking off', async t => {
  const { thinking, tool_choice: choice } = body({
    reasoning_effort: 'high',
    tools: [{ function: { name: 'now' } }],
    tool_choice: 'required'
  })
  t.strictSame([thinking, choice], [undefined, { type: 'any' }])
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
    ['claude-opus-5', 'none', undefined]
  ] as const) {
    t.equal(body({ reasoning_effort: wish }, model).output_config?.effort, effort, `${model} ${wish}`)
  }
})
