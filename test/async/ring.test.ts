import t from 'tap'
import { Ring, RingMember } from '../../lib/async/ring.ts'

class Member extends RingMember {
  readonly name: string

  constructor (name: string) {
    super()
    this.name = name
  }
}

function ringOf (...names: string[]): { readonly ring: Ring<Member>, readonly members: Member[] } {
  const ring = new Ring<Member>()
  const members = names.map(name => new Member(name))
  for (const member of members) ring.add(member)
  return { ring, members }
}

const namesOf = (ring: Ring<Member>): string[] => Array.from(ring, ({ name }) => name)

t.test('members are listed in order of insertion, without deleted ones', async t => {
  const { ring, members } = ringOf('a', 'b', 'c')
  t.same([namesOf(ring), ring.first?.name, ring.last?.name], [['a', 'b', 'c'], 'a', 'c'])
  const [a, b, c] = members as [Member, Member, Member]
  ring.delete(b)
  t.same([namesOf(ring), ring.size, Ring.holds(b)], [['a', 'c'], 2, false])
  ring.delete(a)
  ring.delete(c)
  t.same([namesOf(ring), ring.size, ring.first, ring.last], [[], 0, undefined, undefined])
  ring.add(b)
  t.same(namesOf(ring), ['b'], 'a deleted member may be added again')
})

t.test('adding a member again keeps its place, and deleting an unknown one does nothing', async t => {
  const { ring, members: [a] } = ringOf('a', 'b')
  if (a !== undefined) ring.add(a)
  ring.delete(new Member('c'))
  t.same([namesOf(ring), ring.size], [['a', 'b'], 2])
})

t.test('iteration is not affected by members added or deleted meanwhile', async t => {
  const { ring } = ringOf('a', 'b')
  let seen = 0
  for (const member of ring) {
    seen++
    ring.delete(member)
    ring.add(new Member('later'))
  }
  t.equal(seen, 2)
  t.same(namesOf(ring), ['later', 'later'])
})

t.test('a deleted member keeps no reference to others', async t => {
  const { ring, members: [a] } = ringOf('a', 'b')
  if (a !== undefined) ring.delete(a)
  t.ok(a?.next === a && a?.previous === a)
})
