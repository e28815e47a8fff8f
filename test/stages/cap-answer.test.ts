import t from 'tap'
import { once } from '../../lib/pipeline/sources.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { capAnswer } from '../../lib/stages/cap-answer.ts'
import { collect, route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { RoutedCall } from '../../lib/core/call.ts'
import type { Route } from '../../lib/core/route.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { ModelRegistry } from '../../lib/models/model-registry.ts'

/** A million tokens cost a million billionths of a dollar, so a token costs one billionth. */
const entry: ModelEntry = {
  id: 'one/m', providerId: 'one', model: 'm', status: 'enabled', upstreamApi: 'x', capabilities: {},
  price: { input: 0.001, output: 0.001, asOf: '2026-01-01' }
}

const models: ModelRegistry = {
  find: () => entry, routes: () => [], routeTo: () => undefined, suggest: () => undefined, list: () => [entry]
}

/** Returns the request after the stage, with so many billionths of a dollar reserved. */
async function capped (
  reserved: number | undefined,
  parts: Partial<ChatInput>
): Promise<Partial<ChatInput> | undefined> {
  return (await cappedCall(reserved, parts))?.request
}

async function cappedCall (
  reserved: number | undefined,
  parts: Partial<ChatInput>,
  ...settings: ReadonlyArray<Route['settings']>
): Promise<RoutedCall<ChatInput> | undefined> {
  const [first = route, ...others] = settings.map((given): Route => ({
    ...route,
    ...given && { settings: given }
  }))
  const record = new CallRecord('chat')
  record.cost.maxCostNanoUsd = reserved
  const request: ChatInput = { model: 'one/m', messages: [{ role: 'user', content: 'Hi' }], ...parts }
  const [call] = await collect(
    capAnswer({ models })(once(routedCall(request, { record, routes: [first, ...others] })))
  )
  return call
}

t.test('a call without a reservation is unchanged', async t => {
  t.equal((await capped(undefined, { max_tokens: 1_000_000 }))?.max_tokens, 1_000_000)
})

t.test('an affordable answer keeps its limit', async t => {
  t.equal((await capped(100_000, { max_completion_tokens: 50 }))?.max_completion_tokens, 50)
})

t.test(
  'a longer answer is limited to what is affordable after the prompt, whichever field limited it',
  async t => {
    const request = await capped(1_000, { max_tokens: 1_000_000 })
    t.notOk(request !== undefined && 'max_tokens' in request)
    t.ok(Number(request?.max_completion_tokens) < 1_000)
    t.ok(Number(request?.max_completion_tokens) > 900)
  }
)

t.test('if not even a short answer is affordable, the call is refused', async t => {
  await t.rejects(capped(1, { max_tokens: 1_000_000 }), { code: 'insufficient_quota', status: 402 })
})

t.test(
  'a limit of the request replaces those of settings, and one of settings is lowered per route',
  async t => {
    const known = await cappedCall(1_000, { max_tokens: 1_000_000 }, { max_completion_tokens: 50, seed: 1 })
    t.ok(Number(known?.request.max_completion_tokens) > 900, 'the request wins')
    t.strictSame(known?.routes[0].settings, { max_completion_tokens: 50, seed: 1 })
    const several = await cappedCall(
      1_000,
      {},
      { max_tokens: 1_000_000, seed: 1 },
      { max_tokens: 50 },
      undefined
    )
    t.notOk(several !== undefined && 'max_completion_tokens' in several.request)
    const [long, short, none] = several?.routes.map(({ settings }) => settings) ?? []
    t.ok(Number(long?.['max_completion_tokens']) < 1_000)
    t.strictSame(short, { max_completion_tokens: 50 })
    t.strictSame(
      [long, none],
      [{ seed: 1, ...none }, { max_completion_tokens: long?.['max_completion_tokens'] }]
    )
    const unlimited = await cappedCall(1_000, {}, { seed: 1 })
    t.ok(Number(unlimited?.request.max_completion_tokens) < 1_000, 'settings without a limit stay')
    t.strictSame(unlimited?.routes[0].settings, { seed: 1 })
  }
)

t.test('a generation config is lowered in place', async t => {
  const own = await cappedCall(1_000, { max_tokens: 16, generation_config: { maxOutputTokens: 1_000_000 } })
  t.equal(own?.request.max_completion_tokens, 16)
  const bound = Number(own?.request.generation_config?.['maxOutputTokens'])
  t.ok(bound > 900 && bound < 1_000)
  const settled = await cappedCall(
    1_000,
    { generation_config: { topP: 1, max_output_tokens: 1_000_000 } },
    { generation_config: { maxOutputTokens: 1_000_000 } }
  )
  const both = Number(settled?.request.generation_config?.['max_output_tokens'])
  t.ok(both > 900 && both < 1_000)
  t.strictSame(settled?.request.generation_config, { topP: 1, max_output_tokens: both })
  t.strictSame(settled?.routes[0].settings, {
    generation_config: { maxOutputTokens: both },
    max_completion_tokens: both
  })
})
