import { openDeferrals } from '../../lib/deferred/deferrals.ts'
import { storeTest } from '../support/stores.ts'

storeTest('processes with one store open the same ids, and have different names', async (t, open) => {
  const [first, second] = await Promise.all(
    [open, open].map(async openEach => await openDeferrals(await openEach()))
  )
  const ticket = { key: 'k', createdSeconds: 1, modelId: 'm' }
  t.strictSame(second?.tickets.open(first?.tickets.seal(ticket) ?? ''), ticket)
  t.not(first?.owner, second?.owner)
})
