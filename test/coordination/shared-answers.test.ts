import t from 'tap'
import { SharedAnswers } from '../../lib/coordination/shared-answers.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { eventually, until } from '../support/until.ts'

t.test('answers in Redis', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const server = await redis.connect(t)
  const [one, other] = [new SharedAnswers(server), new SharedAnswers(await redis.connect(t))]

  await t.test('an answer stored by one process is read by another, until it expires', async t => {
    t.equal(await other.get('a'), undefined)
    one.set('a', 'text', 60_000)
    one.set('brief', 'text', 1)
    t.equal(
      await eventually(
        async () => await other.get('a'),
        text => text !== undefined,
        'the text'
      ),
      'text'
    )
    await until(async () => (await other.get('brief')) === undefined, 'the other to be gone')
  })

  await t.test('all answers are deleted at once, and nothing else', async t => {
    for (let number = 0; number < 2500; number++) one.set(`n${number}`, 'text', 60_000)
    await until(async () => (await other.get('n2499')) === 'text', 'the last')
    await server.set('headgate:else', 'text', 60_000)
    t.equal(await one.clear(), 2501)
    t.equal(await other.get('a'), undefined)
    t.equal(await server.get('headgate:else'), 'text')
    t.equal(await one.clear(), 0)
  })

  await t.test('without Redis there are no answers, and nothing fails', async t => {
    await redis.kill()
    t.equal(await one.get('a'), undefined)
    one.set('a', 'text', 1000)
    await until(() => !server.isUp, 'Redis to be unreachable')
    t.equal(await one.get('a'), undefined)
    one.set('a', 'text', 1000)
    await t.rejects(one.clear())
  })
})
