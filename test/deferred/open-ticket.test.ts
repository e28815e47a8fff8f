import { EventEmitter } from 'node:events'
import t from 'tap'
import { credentialDigest, notFound, openTicket } from '../../lib/deferred/open-ticket.ts'
import { digest, SealedTickets } from '../../lib/deferred/sealed-tickets.ts'
import { Secret } from '../../lib/core/secret.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { DeferredStore } from '../../lib/deferred/deferred-store.ts'
import { routedCall } from '../support/stages.ts'
import { provider } from '../support/settings.ts'
import type { Deferrals } from '../../lib/deferred/deferrals.ts'
import type { Test } from 'tap'

const tickets = new SealedTickets(Buffer.alloc(32, 1))
const seconds = (): number => Math.floor(Date.now() / 1000)

async function deferrals (t: Test): Promise<Deferrals> {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  return {
    store: new DeferredStore(database),
    tickets,
    secret: Buffer.alloc(32, 1),
    owner: 'me',
    events: new EventEmitter()
  }
}

t.test('an id opens for its own key, and the store has only its digest', async t => {
  const id = tickets.seal({ key: 'key-1', createdSeconds: seconds(), modelId: 'xai/grok' })
  const call = routedCall({}, { params: { request_id: id } })
  t.match(openTicket(call, await deferrals(t), 60_000), { id: digest(id), ticket: { modelId: 'xai/grok' } })
  t.equal(call.record.routing.modelId, 'xai/grok')
})

t.test('an unknown id, one of another key and an expired one all give not found', async t => {
  const opened = await deferrals(t)
  const other = tickets.seal({ key: 'key-2', createdSeconds: seconds(), modelId: 'm' })
  const expired = tickets.seal({ key: 'key-1', createdSeconds: seconds() - 61, modelId: 'm' })
  for (const id of ['dfr_unknown', other, expired, undefined]) {
    const call = routedCall({}, { params: id === undefined ? {} : { request_id: id } })
    t.throws(() => openTicket(call, opened, 60_000), notFound())
    t.equal(call.record.routing.modelId, undefined)
  }
  t.strictSame(notFound().toBody(), {
    error: {
      message: 'No deferred completion has this id, or it has expired.',
      type: 'invalid_request_error',
      code: 'deferred_completion_not_found',
      param: 'request_id'
    }
  })
  t.equal(notFound('Another reason.').message, 'Another reason.')
})

t.test('a credential is recognised without being revealed', async t => {
  const own = { ...provider('one'), authorize: (key = 'gateway') => ({ authorization: `Bearer ${key}` }) }
  t.equal(credentialDigest(own, undefined), credentialDigest(own, undefined))
  t.not(credentialDigest(own, undefined), credentialDigest(own, new Secret('caller')))
  t.notMatch(credentialDigest(own, new Secret('caller')), 'caller')
})
