import t from 'tap'
import { OpenCallEntry, OpenCalls } from '../../lib/http/open-calls.ts'

function entry (): OpenCallEntry {
  return new OpenCallEntry(() => undefined)
}

t.test('calls are listed in the order they came, without those that ended', async t => {
  const open = new OpenCalls()
  const [first, second, third] = [entry(), entry(), entry()]
  for (const one of [first, second, third]) open.add(one)
  t.ok([...open].every((one, index) => one === [first, second, third][index]))
  open.delete(second)
  t.equal(open.size, 2)
  t.ok([...open].every((one, index) => one === [first, third][index]))
  open.delete(first)
  open.delete(third)
  t.same([...open], [])
  t.equal(open.size, 0)
})

t.test('a list of open calls stays as it is while calls come and go', async t => {
  const open = new OpenCalls()
  const [first, second] = [entry(), entry()]
  open.add(first)
  open.add(second)
  let seen = 0
  for (const one of open) {
    seen++
    open.delete(one)
    open.add(entry())
  }
  t.equal(seen, 2)
  t.equal(open.size, 2)
})

t.test('a call that ended keeps no other alive', async t => {
  const open = new OpenCalls()
  const [first, second] = [entry(), entry()]
  open.add(first)
  open.add(second)
  open.delete(first)
  t.ok(first.next === first && first.previous === first)
})
