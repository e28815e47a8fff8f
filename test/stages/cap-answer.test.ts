import t from 'tap'
import { once } from '../../lib/core/stage.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { capAnswer } from '../../lib/stages/cap-answer.ts'
import { collect, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { ModelRegistry } from '../../lib/models/model-registry.ts'

/** A million tokens cost a million billionths of a dollar, so a token costs one of them. */
const entry: ModelEntry = {
  id: 'one/m', providerId: 'one', model: 'm', status: 'enabled', upstreamApi: 'x', capabilities: {},
  price: { input: 0.001, output: 0.001, asOf: '2026-01-01' }
}

const models: ModelRegistry = {
  find: () => entry, routes: () => [], routeTo: () => undefined, suggest: () => undefined, list: () => [entry]
}

/** Returns the request after the stage, with so many billionths of a dollar reserved. */
async function capped (reserved: number | undefined, parts: Partial<ChatInput>): Promise<Partial<ChatInput> | undefined> {
  const record = new CallRecord('chat')
  record.maxCostNanoUsd = reserved
  const request: ChatInput = { model: 'one/m', messages: [{ role: 'user', content: 'Hi' }], ...parts }
  const [call] = await collect(capAnswer({ models })(once(routedCall(request, { record }))))
  return call?.request
}

t.test('a call without a reservation is not changed', async t => {
  t.equal((await capped(undefined, { max_tokens: 1_000_000 }))?.max_tokens, 1_000_000)
})

t.test('an answer that is paid for keeps its bound', async t => {
  t.equal((await capped(100_000, { max_completion_tokens: 50 }))?.max_completion_tokens, 50)
})

t.test('a longer answer is limited to what is paid for after the prompt, whichever field bounded it', async t => {
  const request = await capped(1_000, { max_tokens: 1_000_000 })
  t.notOk(request !== undefined && 'max_tokens' in request)
  t.ok(Number(request?.max_completion_tokens) < 1_000)
  t.ok(Number(request?.max_completion_tokens) > 900)
})

t.test('when not even a short answer is paid for, the call is refused', async t => {
  await t.rejects(capped(1, { max_tokens: 1_000_000 }), { code: 'insufficient_quota', status: 402 })
})
