import t from 'tap'
import { eventually, readUntil, settles, until } from './until.ts'

t.test('a condition that holds ends the wait', async t => {
  let turns = 0
  await until(() => ++turns === 3, 'three turns')
  t.equal(turns, 3)
})

t.test('a wait without success ends at its deadline and says what it waited for', async t => {
  await t.rejects(until(() => false, 'the moon', 20), { message: 'waited 20 ms for the moon' })
})

t.test('an event ends its wait, and a missing one ends it at the deadline', async t => {
  t.equal(await settles(Promise.resolve(7), 'a number'), 7)
  await t.rejects(settles(new Promise(() => undefined), 'the moon', 20), {
    message: 'waited 20 ms for the moon'
  })
})

t.test('a polled value is returned once it is as wanted', async t => {
  let looks = 0
  t.equal(await eventually(async () => ++looks, count => count === 3, 'the third look'), 3)
  t.equal(looks, 3)
  await t.rejects(
    eventually(
      async () => 0,
      count => count > 0,
      'the moon',
      20
    ),
    { message: 'waited 20 ms for the moon' }
  )
})

t.test('a stream is read up to a text, and its end is an error', async t => {
  const reader = new Blob(['one two']).stream().getReader()
  await readUntil(reader, 'two')
  await t.rejects(readUntil(reader, 'three'), { message: 'the stream ended before three' })
})
