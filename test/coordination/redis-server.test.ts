import t from 'tap'
import { noRedis, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

t.test('Redis shared by gateways', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const timeoutMs = 1000 // long enough for the commands that hang
  const [one, two] = await Promise.all([redis.connect(t, { timeoutMs }), redis.connect(t, { timeoutMs })])
  const ping = async (): Promise<unknown> => await one.run('hgCount', [], [1, 1, '[]'])

  await t.test('processes know their number and the time of the server', async t => {
    await until(() => one.processes === 2, 'both')
    t.ok(Math.abs(one.now() - Date.now()) < 60_000)
    await two.close()
    await until(() => one.processes === 1, 'one to be gone')
  })

  await t.test('a message reaches every process, also after an outage of Redis', async t => {
    let seen = 0
    one.subscribe('changes', () => { seen++ })
    await until(() => {
      one.publish('changes', '')
      return seen > 1
    }, 'a message')
    await redis.kill()
    await until(() => !one.isUp, 'Redis to be unreachable')
    await t.rejects(ping())
    const before = seen
    await redis.restart()
    await until(() => one.isUp && seen > before, 'the subscription')
    await t.resolves(ping())
  })

  await t.test('the duration of each command is counted, also without a reply', async t => {
    const { counts, sum } = one.times
    t.ok(counts.reduce((total, count) => total + count, 0) >= 2)
    t.ok(sum > 0 && sum < 60)
  })

  await t.test('each command of a gateway adds its duration once', async t => {
    // No ping is sent meanwhile.
    const quiet = await redis.connect(t, { timeoutMs, beatMs: 3_600_000 })
    const count = (): number => quiet.times.counts.reduce((total, count) => total + count, 0)
    const [before, { sum }] = [count(), quiet.times]
    await quiet.run('hgCount', [], [1, 1, '[]'])
    await quiet.set('text', 'a', 60_000)
    t.equal(await quiet.get('text'), 'a')
    t.equal(count() - before, 3)
    t.ok(quiet.times.sum > sum)
    await quiet.close()
  })

  await t.test('a server that hangs counts as unreachable until it replies again', async t => {
    const events: string[] = []
    one.on('unreachable', () => events.push('unreachable')).on('reachable', () => events.push('reachable'))
    redis.process().kill('SIGSTOP')
    await t.rejects(ping())
    t.equal(one.isUp, false)
    redis.process().kill('SIGCONT')
    await until(() => one.isUp, 'Redis to be back')
    t.same(events, ['unreachable', 'reachable'])
  })
})
