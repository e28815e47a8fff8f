import t from 'tap'
import { yieldFairly } from '../../lib/async/yield-fairly.ts'
import { countTurns } from '../support/turns.ts'

t.test('one waiter continues in each tick of the event loop, in order of arrival', async t => {
  const turns = countTurns(t)
  const through: Array<[name: string, turn: number]> = []
  const come = async (name: string): Promise<void> => {
    await yieldFairly()
    through.push([name, turns()])
  }
  await Promise.all(['a', 'b', 'c'].map(come))
  t.same(through.map(([name]) => name), ['a', 'b', 'c'])
  t.equal(new Set(through.map(([, turn]) => turn)).size, 3)
})

t.test('a waiter that yields again queues behind the others', async t => {
  const through: string[] = []
  const come = async (name: string, times: number): Promise<void> => {
    for (let count = 0; count < times; count++) {
      await yieldFairly()
      through.push(name)
    }
  }
  await Promise.all([come('a', 3), come('b', 1), come('c', 1)])
  t.same(through, ['a', 'b', 'c', 'a', 'a'])
})
