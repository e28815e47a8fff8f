import t, { type Test } from 'tap'
import { EarlyReply } from '../../lib/core/reply.ts'
import { Secret } from '../../lib/core/secret.ts'
import { chain } from '../../lib/pipeline/chain.ts'
import { once } from '../../lib/pipeline/sources.ts'
import type { Stage } from '../../lib/pipeline/stage.ts'
import { openDeferrals } from '../../lib/deferred/deferrals.ts'
import { textOf } from '../../lib/public/testing.ts'
import { AbandonedAnswers } from '../../lib/attempts/abandoned-answers.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { defer } from '../../lib/stages/defer.ts'
import { normalise } from '../../lib/stages/normalise.ts'
import { providerCall } from '../../lib/stages/provider-call.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { provider, settings } from '../support/settings.ts'
import { collect, route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { RoutedCall } from '../../lib/core/call.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Settings } from '../../lib/core/settings.ts'
import { fillRecord } from '../support/fill-record.ts'

const question: ChatInput = { model: 'one/m', messages: [{ role: 'user', content: 'later' }], deferred: true }

async function services (t: Test, deferred: Partial<Settings['deferred']> = {}) {
  const database = await openDatabase(t.testdir())
  t.teardown(async () => await database.close())
  const given = settings()
  return {
    deferrals: await openDeferrals(database),
    providers: new Map([['one', provider('one')]]),
    settings: { ...given, deferred: { ...given.deferred, forAllProviders: true, ...deferred } },
    abandonedAnswers: new AbandonedAnswers(),
    routingState: new RoutingState()
  }
}

type DeferServices = Omit<Awaited<ReturnType<typeof services>>, 'deferrals'> &
  Partial<Awaited<ReturnType<typeof services>>>

function deferring (given: DeferServices): Stage<RoutedCall<ChatInput>> {
  return defer(
    given,
    providerCall(given, 'deferred'),
    chain(recordUsage<ChatInput, ChatEvent>(), normalise())
  )
}

async function receiptOf (
  given: Awaited<ReturnType<typeof services>>,
  call: RoutedCall<ChatInput>
): Promise<Record<string, unknown> | undefined> {
  const thrown: unknown = await collect(deferring(given)(once(call))).catch((error: unknown) => error)
  if (!(thrown instanceof EarlyReply)) return undefined
  return JSON.parse(await textOf(thrown.reply)) as Record<string, unknown> // printed by us
}

t.test('a call that is not deferred or cannot be passes', async t => {
  const given = await services(t)
  const { deferred: _, ...now } = question
  const call = routedCall(now)
  t.same(await collect(deferring(given)(once(call))), [call])
  const { deferrals: _store, ...without } = given
  const later = routedCall(question)
  t.same(await collect(deferring(without)(once(later))), [later], 'without a store')
  t.same(
    await collect(deferring(await services(t, { forAllProviders: false }))(once(later))),
    [later],
    'at a provider that does not'
  )
  t.equal(later.record.request.isDeferred, undefined)
})

t.test('a deferred call ends with a receipt, and is stored without the option that deferred it', async t => {
  const given = await services(t)
  const added = new Promise<void>(resolve => given.deferrals.events.once('added', resolve))
  const call = routedCall(question)
  fillRecord(call.record, { caller: { endUser: 'ada', tags: ['a'] } })
  const receipt = await receiptOf(given, call)
  t.match(receipt, { object: 'chat.completion', model: 'one/m', choices: [], request_id: /^dfr_/ })
  t.match(given.deferrals.tickets.open(String(receipt?.['request_id'])), { key: 'key-1', modelId: 'one/m' })
  t.equal(call.record.request.isDeferred, true)
  await added
  const task = await given.deferrals.store.take({ owner: 'me', untilMs: Date.now() + 1000 }, Date.now())
  t.same(JSON.parse(task?.task ?? ''), {
    id: 'call-1',
    key: { id: 'key-1', name: 'test' },
    request: { model: 'one/m', messages: question.messages },
    routes: [route],
    attribution: { endUser: 'ada', tags: ['a'], hashed: false }
  })
})

t.test('an undeferrable call is refused', async t => {
  const given = await services(t)
  for (const [request, parts, param] of [
    [{ stream: true }, {}, 'stream'],
    [{ mcp_servers: 'a/b' }, {}, 'mcp_servers'],
    [{}, { providerKey: new Secret('sk') }, 'deferred']
  ] as const) {
    await t.rejects(collect(deferring(given)(once(routedCall({ ...question, ...request }, parts)))), {
      code: 'unsupported_parameter',
      param
    })
  }
})

t.test('stored completions and waiting calls are limited per key', async t => {
  const full = await services(t, { maxBytesPerKey: 1 })
  t.ok(await receiptOf(full, routedCall(question)))
  await t.rejects(collect(deferring(full)(once(routedCall(question)))), {
    code: 'insufficient_quota',
    status: 429
  })
  await t.rejects(collect(deferring(await services(t, { maxPending: 0 }))(once(routedCall(question)))), {
    code: 'overloaded'
  })
})
