import t from 'tap'
import { attributionIn, keptEndUser, unknownCaller } from '../../lib/core/call-attribution.ts'
import { CallerFacts } from '../../lib/core/record.ts'

t.test('attribution says whether its end user is a digest', async t => {
  const caller = new CallerFacts()
  t.same(attributionIn(caller), unknownCaller)
  caller.endUser = 'ada'
  t.match(attributionIn(caller), { endUser: 'ada', hashed: false })
  caller.digestEndUser = name => `digest of ${name}`
  t.match(attributionIn(caller), { endUser: 'ada', hashed: true })
})

t.test('the end user of an earlier call is digested once', async t => {
  const caller = new CallerFacts()
  t.equal(keptEndUser({ endUser: 'ada', hashed: false }, caller), 'ada')
  caller.digestEndUser = name => `digest of ${name}`
  t.equal(keptEndUser({ endUser: 'ada', hashed: false }, caller), 'digest of ada')
  t.equal(keptEndUser({ endUser: 'ada' }, caller), 'digest of ada', 'a record of an earlier version')
  t.equal(keptEndUser({ endUser: 'digest', hashed: true }, caller), 'digest')
  t.equal(keptEndUser({ endUser: 'x'.repeat(22) }, caller), 'x'.repeat(22), 'it has the form of a digest')
  t.equal(keptEndUser({}, caller), undefined)
})
