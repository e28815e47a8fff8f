import t from 'tap'
import { callerToolId, providerToolId } from '../../../lib/dialects/messages/tool-call-id.ts'

t.test('a valid id is unchanged, and an invalid one is encoded and decoded again', async t => {
  t.equal(callerToolId('call_1-a'), 'call_1-a')
  for (const id of ['functions.Bash:0', 'a b', 'ü', 'toolu_hg_abc']) {
    const legal = callerToolId(id)
    t.match(legal, /^[a-zA-Z0-9_-]+$/)
    t.not(legal, id)
    t.equal(providerToolId(legal), id)
  }
  t.equal(providerToolId('toolu_hg_!'), 'toolu_hg_!', 'an id that was not made here')
})

t.test('a long id is shortened, always to the same one', async t => {
  const [long, other] = ['a'.repeat(100), `${'a'.repeat(99)}b`]
  t.ok(providerToolId(long).length <= 64)
  t.equal(providerToolId(long), providerToolId(long))
  t.not(providerToolId(long), providerToolId(other))
})
