import t from 'tap'
import { callerToolId, providerToolId } from '../../../lib/dialects/messages/tool-call-id.ts'

t.test('a legal id stays, any other becomes legal, and comes back as the provider wrote it', async t => {
  t.equal(callerToolId('call_1-a'), 'call_1-a')
  for (const id of ['functions.Bash:0', 'a b', 'ü', 'toolu_hg_abc']) {
    const legal = callerToolId(id)
    t.match(legal, /^[a-zA-Z0-9_-]+$/)
    t.not(legal, id)
    t.equal(providerToolId(legal), id)
  }
  t.equal(providerToolId('toolu_hg_!'), 'toolu_hg_!', 'one that was not made here')
})

t.test('a long id is a shorter one, always the same', async t => {
  const [long, other] = ['a'.repeat(100), `${'a'.repeat(99)}b`]
  t.ok(providerToolId(long).length <= 64)
  t.equal(providerToolId(long), providerToolId(long))
  t.not(providerToolId(long), providerToolId(other))
})
