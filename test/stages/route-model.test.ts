import t from 'tap'
import { once } from '../../lib/pipeline/sources.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { routeModel } from '../../lib/stages/route-model.ts'
import { provider, settings } from '../support/settings.ts'
import { collect, routedCall } from '../support/stages.ts'
import type { ModelRequest } from '../../lib/routing/choose-routes.ts'
import type { RoutedCall } from '../../lib/core/call.ts'

const providers = new Map([['openai', provider('openai')], ['google', provider('google')]])
const models = createModels(settings(), new Set(['openai', 'google']))

async function routed (
  model: ModelRequest['model'],
  headers: Record<string, string> = {}
): Promise<RoutedCall<ModelRequest>> {
  const { routes: _, ...call } = routedCall<ModelRequest>({ model }, { headers })
  const [out] = await collect(routeModel({ models, providers, settings: settings() })(once(call)))
  if (out === undefined) throw new Error('no call came out')
  return out
}

t.test('a call gets the routes that were chosen for it', async t => {
  const { routes, record } = await routed('openai/gpt-5')
  t.match(routes, [{ providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' }])
  t.match(record, {
    request: { requestedModel: 'openai/gpt-5' },
    routing: { unusedRoutes: undefined, routes: undefined }
  })
})

t.test(
  'skipped models are in the record with the reason, and are not routes of the call',
  async t => {
    const { routes, record } = await routed(['openai/gpt-5', 'google/gemini-2.5-pro'], {
      'x-headgate-only': 'google'
    })
    t.same(
      routes.map(({ modelId }) => modelId),
      ['google/gemini-2.5-pro']
    )
    t.equal(record.routing.routes, undefined, 'set by the attempts')
    t.match(record.routing.unusedRoutes, [{ route: { modelId: 'openai/gpt-5' }, reason: String }])
  }
)

t.test('a key of the caller travels with the call, and the record only states that there is one', async t => {
  const { providerKey, record } = await routed('openai/gpt-5', { 'x-provider-key': 'sk-own' })
  t.equal(providerKey?.reveal(), 'sk-own')
  t.equal(record.caller.usesOwnProviderKey, true)
  t.notMatch(JSON.stringify(record), /sk-own/)
})
