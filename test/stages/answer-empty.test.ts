import t from 'tap'
import { EarlyReply, toJsonReply } from '../../lib/core/reply.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { answerEmpty } from '../../lib/stages/answer-empty.ts'
import { collect, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const request: ChatInput = { model: 'one/m', messages: [{ role: 'user', content: 'hi' }] }
const services = { providers: new Map() }
const empty = ({ context }: { readonly context: string }) => toJsonReply({ said: context })

t.test('a call for zero tokens ends with the empty answer of its dialect', async t => {
  const call = { ...routedCall({ ...request, max_completion_tokens: 0 }), context: 'nothing' }
  const thrown: unknown = await collect(answerEmpty(services, { empty })(once(call))).catch(
    (error: unknown) => error
  )
  t.match(thrown, new EarlyReply(toJsonReply({ said: 'nothing' })))
})

t.test('other calls pass, and so do all calls of a dialect without such an answer', async t => {
  for (const given of [request, { ...request, max_completion_tokens: 1 }]) {
    const call = routedCall(given)
    t.same(await collect(answerEmpty(services, { empty })(once(call))), [call])
  }
  const none = routedCall({ ...request, max_completion_tokens: 0 })
  t.same(await collect(answerEmpty(services, {})(once(none))), [none])
})
