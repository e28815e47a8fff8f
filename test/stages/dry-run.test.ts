import t from 'tap'
import { EarlyReply } from '../../lib/core/reply.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { textOf } from '../../lib/public/testing.ts'
import { dryRun } from '../../lib/stages/dry-run.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { modelSettings, providerSettings, settings } from '../support/settings.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { collect, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Route } from '../../lib/core/route.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import { estimateOf, type Estimate } from '../../lib/limits/estimate.ts'
import type { RouteDecision } from '../../schemas/route-decision.ts'

const nothing = { send: async () => await Promise.reject(new Error('nothing may be sent')) }
const priced = settings({
  providers: [providerSettings('one', 'anthropic')],
  models: [modelSettings('one/m', { price: { input: 1, output: 1 } })]
})
const services = {
  providers: new Map([['one', createProvider(providerSettings('one', 'anthropic'), nothing)]]),
  routingState: new RoutingState(),
  models: createModels(priced, new Set(['one'])),
  settings: priced
}

async function decided (
  headers: Record<string, string>,
  capability: 'chat' | 'ocr' = 'chat',
  estimate?: Estimate
): Promise<RouteDecision | undefined> {
  const call = routedCall({}, { headers })
  call.record.request.requestedModel = 'one/m'
  const thrown: unknown = await collect(
    dryRun(services, capability, estimate && { estimate: () => estimate })(once(call))
  ).catch((error: unknown) => error)
  t.equal(call.record.request.isDryRun, thrown instanceof EarlyReply ? true : undefined)
  if (!(thrown instanceof EarlyReply)) return undefined
  return JSON.parse(await textOf(thrown.reply)) as RouteDecision // printed by us
}

t.test('a call without X-Headgate-Dry-Run, or with it false, passes', async t => {
  for (const headers of [
    {},
    ...['false', '0', 'no', ' No '].map(value => ({ 'x-headgate-dry-run': value }))
  ]) {
    t.equal(await decided(headers), undefined, JSON.stringify(headers))
  }
})

t.test('a dry run ends with the decisions so far', async t => {
  for (const value of ['true', '1', '', 'whatever']) {
    t.match(
      await decided({ 'x-headgate-dry-run': value }),
      { candidates: [{ rank: 1, model: 'one/m' }] },
      value
    )
  }
})

t.test('a provider without the capability is listed as unsuitable', async t => {
  const dry = { 'x-headgate-dry-run': 'true' }
  t.not((await decided(dry))?.candidates[0]?.state, 'unsuitable')
  t.equal((await decided(dry, 'ocr'))?.candidates[0]?.state, 'unsuitable')
})

t.test('a cost is estimated for tokens, and not for calls billed in other units', async t => {
  const tokens = estimateOf({ prompt: { typical: 1000 }, answer: { typical: 500 } })
  const dry = { 'x-headgate-dry-run': 'true' }
  const one = { pages: 1 }
  const pages = { typical: one, max: one, min: one, answerTokens: 0 }
  t.equal((await decided(dry, 'chat', tokens))?.candidates[0]?.expected_cost_usd, 0.0015)
  t.equal(
    (await decided(dry, 'chat', { ...tokens, units: pages }))?.candidates[0]?.expected_cost_usd,
    undefined
  )
})

t.test('a cost is estimated for each model with its own settings', async t => {
  const { routes: [first] } = routedCall({})
  const settled = [500, 1000].map((tokens): Route => ({ ...first, settings: { max_tokens: tokens } }))
  const call = routedCall<ChatInput>(
    { model: 'one/m', messages: [] },
    { headers: { 'x-headgate-dry-run': 'true' }, routes: [first, ...settled] }
  )
  const thrown: unknown = await collect(
    dryRun(services, 'chat', {
      estimate: (_, routes) => estimateOf({
        prompt: { typical: 0 },
        answer: { typical: Number(routes.at(-1)?.settings?.['max_tokens'] ?? 1) }
      })
    })(once(call))
  ).catch((error: unknown) => error)
  if (!(thrown instanceof EarlyReply)) throw thrown
  const { candidates } = JSON.parse(await textOf(thrown.reply)) as RouteDecision // printed by us
  t.same(candidates.map(candidate => candidate.expected_cost_usd), [0.000001, 0.0005, 0.001])
})

t.test('a dry run lists the guards that would inspect the call, in order', async t => {
  const stage = (name: string, only?: GuardSettings['only']): GuardSettings => ({
    name,
    use: 'pattern',
    at: ['request'],
    action: 'mask',
    patterns: ['email'],
    ...only !== undefined && { only }
  })
  const stages = [
    stage('all'),
    stage('mine', { keys: ['test'], models: ['one/*'] }),
    stage('others', { keys: ['other'] }),
    stage('speech', { endpoints: ['speech'] })
  ]
  const listed = async (endpoint: string): Promise<unknown> => {
    const call = routedCall(
      {},
      { headers: { 'x-headgate-dry-run': 'true' }, record: new CallRecord(endpoint) }
    )
    const thrown: unknown = await collect(
      dryRun({ ...services, settings: settings({ ...priced, guards: stages }) }, 'chat')(once(call))
    ).catch((error: unknown) => error)
    // printed by us
    return thrown instanceof EarlyReply
      ? (JSON.parse(await textOf(thrown.reply)) as RouteDecision).stages
      : undefined
  }
  t.same(await listed('chat'), [
    { name: 'all', use: 'pattern', at: ['request'] },
    { name: 'mine', use: 'pattern', at: ['request'] }
  ])
  t.match(await listed('speech'), [{ name: 'all' }, { name: 'mine' }, { name: 'speech' }])
  t.same(await listed('models'), [], 'an endpoint whose texts are not inspected')
  t.equal((await decided({ 'x-headgate-dry-run': 'true' }))?.stages, undefined)
})
