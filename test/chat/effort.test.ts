import t from 'tap'
import { fitTuning, nearestEffort, thinks } from '../../lib/chat/effort.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

t.test('an unsupported effort becomes the closest supported one, preferring lower', async t => {
  const usual = ['low', 'medium', 'high']
  for (const [wish, known, effort] of [
    ['max', undefined, 'max'],
    ['max', usual, 'high'],
    ['minimal', usual, 'low'],
    ['none', usual, 'low'],
    ['medium', usual, 'medium'],
    ['xhigh', [...usual, 'max'], 'high'],
    ['none', ['none', ...usual], 'none'],
    ['minimal', ['none', ...usual], 'low'],
    ['low', ['none', 'default'], undefined],
    ['none', ['none', 'default'], 'none'],
    ['high', [], undefined]
  ] as const) {
    t.equal(nearestEffort(wish, known), effort, `${wish} of ${String(known)}`)
  }
})

t.test('sampling fields are dropped where the model refuses them, and kept elsewhere', async t => {
  const request: ChatInput = {
    model: 'a/b',
    messages: [],
    temperature: 0.5,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 1,
    logit_bias: { 5: 1 },
    max_tokens: 9
  }
  t.equal(fitTuning(request), request)
  t.equal(fitTuning(request, { sampling: true, penalties: true }), request)
  t.strictSame(fitTuning(request, { sampling: false, penalties: false }), {
    model: 'a/b',
    messages: [],
    max_tokens: 9
  })
  t.match(fitTuning(request, { sampling: false, defaultEffort: 'none' }), {
    temperature: 0.5,
    presence_penalty: 0
  })
  t.notOk(
    'temperature' in
      fitTuning({ ...request, reasoning_effort: 'low' }, { sampling: false, defaultEffort: 'none' })
  )
  t.strictSame(
    fitTuning({ model: 'a/b', messages: [], reasoning_effort: 'max' }, { efforts: ['low', 'high'] }),
    { model: 'a/b', messages: [], reasoning_effort: 'high' }
  )
  t.strictSame(fitTuning({ model: 'a/b', messages: [], reasoning_effort: 'max' }, { efforts: [] }), {
    model: 'a/b',
    messages: []
  })
})

t.test('a model thinks unless the effort disables it', async t => {
  t.equal(thinks(undefined, {}), true)
  t.equal(thinks(undefined, { defaultEffort: 'none' }), false)
  t.equal(thinks('low', { defaultEffort: 'none' }), true)
  t.equal(thinks('none', {}), false)
})
