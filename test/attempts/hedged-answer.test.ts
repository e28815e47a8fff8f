import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { hedgedAnswer } from '../../lib/attempts/hedged-answer.ts'
import { RouteAttempt } from '../../lib/attempts/route-attempt.ts'
import { RouteHealth } from '../../lib/routing/route-health.ts'
import { route } from '../support/routes.ts'
import { provider } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'

interface Answer { readonly name: string, readonly close: () => void }

/** Two requests that end when the test says so. */
function race () {
  const call = routedCall({})
  const health = new RouteHealth(() => 0)
  const begin = (id: string) => new RouteAttempt(call, provider('one'), { route: route(id) }, health)
  const closed: string[] = []
  const answerOf = (name: string): Answer => ({ name, close: () => { closed.push(name) } })
  const ends = { first: withResolvers<Answer>(), second: withResolvers<Answer>() }
  let started = false
  const raced = hedgedAnswer(call, begin('one/a'), 1, async () => await ends.first.promise, () => {
    started = true
    return { attempt: begin('two/b'), send: async () => await ends.second.promise }
  })
  return {
    record: call.record, closed, raced,
    both: async () => { await until(() => started, 'the second request') },
    succeed: (name: 'first' | 'second') => ends[name].resolve(answerOf(name)),
    fail: (name: 'first' | 'second') => ends[name].reject(new GatewayError('upstream_error'))
  }
}

const notes = ({ record }: ReturnType<typeof race>): unknown => record.failedAttempts?.map(({ route, reason }) => [route.modelId, reason])

t.test('the second answers: the call is its route\'s, and the first was slower', async t => {
  const run = race()
  await run.both()
  run.succeed('second')
  t.match(await run.raced, { route: { modelId: 'two/b' }, answer: { name: 'second' } })
  t.same([run.record.modelId, notes(run)], ['two/b', [['one/a', 'slower']]])
  run.succeed('first')
  await until(() => run.closed.length > 0, 'the late answer to be closed')
  t.same(run.closed, ['first'])
})

t.test('the first answers after all', async t => {
  const run = race()
  await run.both()
  run.succeed('first')
  t.match(await run.raced, { route: { modelId: 'one/a' }, answer: { name: 'first' } })
  t.same(notes(run), [['two/b', 'slower']])
})

t.test('the first fails, and the second answers', async t => {
  const run = race()
  await run.both()
  run.fail('first')
  await new Promise(resolve => { setImmediate(resolve) })
  run.succeed('second')
  t.match(await run.raced, { route: { modelId: 'two/b' } })
  t.same(notes(run), [['one/a', 'upstream_error']])
})

t.test('both fail: that of the second is noted, that of the first is thrown', async t => {
  const run = race()
  await run.both()
  run.fail('second')
  run.fail('first')
  await t.rejects(run.raced, { code: 'upstream_error' })
  t.same(notes(run), [['two/b', 'upstream_error']])
})
