import t from 'tap'
import { CooldownExchange } from '../../lib/coordination/cooldown-exchange.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { RouteHealth } from '../../lib/routing/route-health.ts'
import { noRedis, startRedis, type TestRedis } from '../support/redis.ts'
import { fail, route } from '../support/routes.ts'
import { until } from '../support/until.ts'
import type { Test } from 'tap'

interface Node {
  readonly health: RouteHealth
  /** The names that it heard of. */
  readonly learned: readonly string[]
}

async function nodeOf (t: Test, redis: TestRedis, digest: string): Promise<Node> {
  const exchange = new CooldownExchange(await redis.connect(t))
  const health = new RouteHealth(undefined, cooldown => exchange.report(cooldown))
  health.addCredentials('three', [1, 1])
  const learned: string[] = []
  exchange.listen({
    digestOf: () => digest,
    learn: (cooldown, origin) => {
      learned.push(cooldown.modelId ?? cooldown.providerId)
      health.learn(cooldown, origin)
    }
  })
  return { health, learned }
}

t.test('what cools down in one process cools down in all that call the same provider', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const [one, two, other] = await Promise.all([nodeOf(t, redis, 'same'), nodeOf(t, redis, 'same'), nodeOf(t, redis, 'another account')])
  const [a, b] = [route('one/a'), route('two/b')]
  for (let count = 0; count < 5; count++) fail(one.health, a)
  await until(() => two.health.cooldown(a) !== undefined, 'a circuit that is open')
  t.match(two.health.cooldown(a), { reason: 'circuit_open', origin: 'another_process' })
  t.match(one.health.cooldown(a), { reason: 'circuit_open', origin: 'this_process' })

  one.health.failed(b, one.health.begin(b), new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 60 }))
  await until(() => two.health.cooldown(b) !== undefined, 'a provider that limits requests')
  t.match(two.health.cooldown(b), { reason: 'rate_limited', origin: 'another_process' })
  t.ok(two.health.pauseMs('two') > 59_000)

  const c = route('three/c')
  one.health.failed(c, one.health.begin(c), new GatewayError('upstream_auth_failed'), 1)
  await until(() => two.health.credentials('three')?.ready === 1, 'a credential that was refused')
  t.equal(two.health.credentials('three')?.choose(), 0)

  t.same(other.learned, [])
  t.equal(other.health.cooldown(a), undefined)

  const late = await nodeOf(t, redis, 'same')
  await until(() => late.health.cooldown(a) !== undefined && late.health.cooldown(b) !== undefined, 'a process that starts later to know')

  one.health.succeeded(a, one.health.begin(a), false, 0)
  await until(() => two.health.cooldown(a) === undefined && late.health.cooldown(a) === undefined, 'the circuit to be closed everywhere')
})
