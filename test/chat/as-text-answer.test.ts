import t from 'tap'
import { asTextAnswer } from '../../lib/chat/as-text-answer.ts'
import { route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const request: ChatInput = { model: 'm', messages: [] }

t.test('an answer that may be changed has no log probabilities, and is not spoken', t => {
  const call = routedCall(request)
  t.equal(asTextAnswer(call), call)
  t.same(asTextAnswer(routedCall<ChatInput>({ ...request, logprobs: true, top_logprobs: 2 })).request, {
    ...request,
    logprobs: false
  })
  t.same(
    asTextAnswer(routedCall(request, { routes: [{ ...route, settings: { logprobs: true } }] })).request,
    { ...request, logprobs: false },
    'what the request says wins'
  )
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
