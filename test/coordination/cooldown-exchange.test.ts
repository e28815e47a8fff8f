import { Redis } from 'ioredis'
import t from 'tap'
import { CooldownExchange } from '../../lib/coordination/cooldown-exchange.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { noRedis, startRedis, type TestRedis } from '../support/redis.ts'
import { fail, route } from '../support/routes.ts'
import { until } from '../support/until.ts'
import type { Test } from 'tap'
import type { RedisServer } from '../../lib/coordination/redis-server.ts'

interface Node {
  readonly server: RedisServer
  readonly health: RoutingState
  /** The model names that it was notified of. */
  readonly learned: readonly string[]
}

async function nodeOf (t: Test, redis: TestRedis, digest: string): Promise<Node> {
  const server = await redis.connect(t)
  const exchange = new CooldownExchange(server)
  const health = new RoutingState(undefined, cooldown => exchange.report(cooldown))
  health.addCredentials('three', [1, 1])
  const learned: string[] = []
  exchange.listen({
    digestOf: () => digest,
    learn: (cooldown, origin) => {
      learned.push(cooldown.modelId ?? cooldown.providerId)
      health.learn(cooldown, origin)
    }
  })
  return { server, health, learned }
}

t.test(
  'a cooldown in one process applies to all that call the same provider',
  { skip: noRedis },
  async t => {
    const redis = await startRedis(t)
    const [one, two, other] = await Promise.all([
      nodeOf(t, redis, 'same'),
      nodeOf(t, redis, 'same'),
      nodeOf(t, redis, 'another account')
    ])
    const [a, b] = [route('one/a'), route('two/b')]
    for (let count = 0; count < 5; count++) fail(one.health, a)
    await until(() => two.health.cooldown(a, 'key-1') !== undefined, 'a circuit that is open')
    t.match(two.health.cooldown(a, 'key-1'), { reason: 'circuit_open', origin: 'another_process' })
    t.match(one.health.cooldown(a, 'key-1'), { reason: 'circuit_open', origin: 'this_process' })

    one.health.failed(
      b,
      one.health.begin(b, 'key-1'),
      new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 60 })
    )
    await until(() => two.health.cooldown(b, 'key-1') !== undefined, 'a provider that limits requests')
    t.match(two.health.cooldown(b, 'key-1'), { reason: 'rate_limited', origin: 'another_process' })
    t.ok(two.health.pauseMs('two') > 59_000)

    const c = route('three/c')
    // Refused for two keys, because a refusal of a single key may be its own fault.
    for (const key of ['key-1', 'key-2']) {
      one.health.failed(c, one.health.begin(c, key), new GatewayError('upstream_auth_failed'), 1)
    }
    await until(() => two.health.credentials('three')?.ready === 1, 'a credential that was refused')
    t.equal(two.health.credentials('three')?.choose('key-1'), 0)

  t.same(other.learned, [])
  t.equal(other.health.cooldown(a, 'key-1'), undefined)

    const late = await nodeOf(t, redis, 'same')
    await until(
      () => late.health.cooldown(a, 'key-1') !== undefined && late.health.cooldown(b, 'key-1') !== undefined,
      'a process that starts later to know'
    )

    one.health.succeeded(a, one.health.begin(a, 'key-1'), false, 0)
    await until(
      () => two.health.cooldown(a, 'key-1') === undefined && late.health.cooldown(a, 'key-1') === undefined,
      'the circuit to be closed everywhere'
    )
  }
)

t.test(
  'when Redis is back, a process reports its cooldowns, and those that have ended',
  { skip: noRedis },
  async t => {
    const redis = await startRedis(t)
    const [one, two] = await Promise.all([nodeOf(t, redis, 'same'), nodeOf(t, redis, 'same')])
    const [known, found, over] = [route('one/a'), route('two/b'), route('three/c')]
    const limited = new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 600 })
    one.health.failed(known, one.health.begin(known, 'key-1'), limited)
    for (let count = 0; count < 5; count++) fail(one.health, over)
    await until(
      () =>
        two.health.cooldown(known, 'key-1') !== undefined &&
        two.health.cooldown(over, 'key-1') !== undefined,
      'the other to know'
    )

  redis.process().kill('SIGSTOP') // it keeps its data while stopped
  await until(() => !one.server.isUp, 'Redis to be unreachable')
  one.health.succeeded(over, one.health.begin(over, 'key-1'), false, 0)
  redis.process().kill('SIGCONT')
  await until(() => two.health.cooldown(over, 'key-1') === undefined, 'the end of the circuit to be known')

    await redis.kill()
    await until(() => !one.server.isUp, 'Redis to be unreachable')
    one.health.failed(found, one.health.begin(found, 'key-1'), limited)
    await redis.restart()
    const late = await nodeOf(t, redis, 'same')
    await until(
      () =>
        late.health.cooldown(known, 'key-1') !== undefined &&
        late.health.cooldown(found, 'key-1') !== undefined,
      'a process that starts later to know'
    )
    t.ok(late.health.pauseMs('one') > 550_000)
    t.equal(late.health.cooldown(over, 'key-1'), undefined)
  }
)

t.test('a message in another format is ignored', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const [one, two] = await Promise.all([nodeOf(t, redis, 'same'), nodeOf(t, redis, 'same')])
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  for (const message of ['', 'x', '5 -3 []', '5 5 {']) await client.publish('headgate:cooldowns', message)
  const limited = new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 600 })
  one.health.failed(route('one/a'), one.health.begin(route('one/a'), 'key-1'), limited)
  await until(() => two.health.cooldown(route('one/a'), 'key-1') !== undefined, 'the other to know')
})
