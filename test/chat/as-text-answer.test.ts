import t from 'tap'
import { asTextAnswer } from '../../lib/chat/as-text-answer.ts'
import { route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { RoutedCall } from '../../lib/core/call.ts'
import type { Route } from '../../lib/core/route.ts'

const request: ChatInput = { model: 'm', messages: [] }

t.test('a request whose answer may be rewritten has no log probabilities or audio', t => {
  const call = routedCall(request)
  t.equal(asTextAnswer(call), call)
  const probable = asTextAnswer(routedCall<ChatInput>({ ...request, logprobs: true, top_logprobs: 2 }))
  t.same(probable.request, { ...request, logprobs: false })
  t.same(probable.record.request.ignoredFields, ['logprobs'])
  const config = { response_logprobs: true, logprobs: 5, topK: 3 }
  t.same(asTextAnswer(routedCall<ChatInput>({ ...request, generation_config: config })).request, {
    ...request,
    logprobs: false,
    generation_config: { topK: 3 }
  })
  t.throws(() => asTextAnswer(routedCall<ChatInput>({ ...request, modalities: ['text', 'audio'] })), {
    code: 'unsupported_parameter',
    param: 'modalities'
  })
  t.end()
})

t.test('settings of a model are restricted like a request', t => {
  const callWith = (settings: Route['settings']): RoutedCall<ChatInput> =>
    routedCall(request, { routes: [route, { ...route, ...settings !== undefined && { settings } }] })
  const rows: ReadonlyArray<readonly [settings: Route['settings'], left: Route['settings']]> = [
    [{ seed: 1, logprobs: true, top_logprobs: 2 }, { seed: 1 }],
    [
      { generation_config: { responseLogprobs: true, logprobs: 5, topK: 3 } },
      { generation_config: { topK: 3 } }
    ]
  ]
  for (const [settings, left] of rows) {
    const call = asTextAnswer(callWith(settings))
    t.same(call.request, { ...request, logprobs: false })
    t.same(call.routes.map(({ settings }) => settings), [undefined, left])
  }
  const plain = callWith({ seed: 1 })
  t.equal(asTextAnswer(plain), plain)
  t.same(plain.routes[1]?.settings, { seed: 1 })
  t.throws(() => asTextAnswer(callWith({ modalities: ['text', 'audio'] })), { code: 'unsupported_parameter' })
  t.end()
})
