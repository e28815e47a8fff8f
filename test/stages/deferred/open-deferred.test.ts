import t from 'tap'
import { EarlyReply } from '../../../lib/core/reply.ts'
import { once } from '../../../lib/pipeline/sources.ts'
import { digest } from '../../../lib/deferred/sealed-tickets.ts'
import { openDeferred } from '../../../lib/stages/deferred/open-deferred.ts'
import {
  callFor,
  deferredId,
  deferredServices,
  upstreamResponse,
  type DeferredServices
} from '../../support/deferred.ts'
import { collect } from '../../support/stages.ts'
import type { DeferredTicket } from '../../../lib/deferred/sealed-tickets.ts'

const unknown = { code: 'deferred_completion_not_found', status: 404 }

async function open (services: DeferredServices, id: string, call = callFor(id)): Promise<unknown> {
  return await collect(openDeferred(services)(once(call))).then(
    ([opened]) => opened,
    (error: unknown) => error
  )
}

t.test('a completion that its provider has is to be fetched', async t => {
  const services = await deferredServices(t, async () => upstreamResponse(202))
  const call = callFor(deferredId(services))
  t.match(await open(services, '', call), {
    fetch: {
      call,
      id: digest(call.params['request_id'] ?? ''),
      upstream: { upstreamId: 'u1' },
      provider: { id: 'one' }
    }
  })
})

t.test('a stored answer, or one the gateway has yet to make, ends the call', async t => {
  const services = await deferredServices(t, async () => upstreamResponse(202))
  const { store, owner } = services.deferrals
  const run = {
    key: 'key-1',
    createdSeconds: Math.floor(Date.now() / 1000),
    modelId: 'one/m'
  } satisfies DeferredTicket
  const id = services.deferrals.tickets.seal(run)
  await store.add({ id: digest(id), keyId: 'key-1', task: '{}' }, Date.now() + 60_000, 10)
  t.match(
    await open(services, id),
    new EarlyReply({ status: 202, headers: {}, body: JSON.stringify({ request_id: id, status: 'pending' }) })
  )
  await store.take({ owner, untilMs: Date.now() + 1000 }, Date.now())
  await store.finish(digest(id), owner, { status: 502, body: '{"error":{}}' }, Date.now() + 60_000)
  const call = callFor(id)
  t.match(
    await open(services, id, call),
    new EarlyReply({ status: 502, headers: { 'x-should-retry': 'false' }, body: '{"error":{}}' })
  )
  t.equal(call.record.end.outcome, 'error')
})

t.test('ids that are unknown, of another key or of another credential are not found', async t => {
  const services = await deferredServices(t, async () => upstreamResponse(202))
  t.match(await open(services, 'dfr_none'), unknown)
  t.match(await open(services, deferredId(services, { key: 'key-2' })), unknown)
  const id = deferredId(services)
  t.match(await open(services, id, { ...callFor(id), headers: { 'x-provider-key': 'another' } }), unknown)
  t.match(await open({ ...services, providers: new Map() }, id), unknown)
})
