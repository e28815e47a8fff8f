import t from 'tap'
import { once } from '../../lib/pipeline/sources.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { fitRoutes } from '../../lib/stages/fit-routes.ts'
import { provider, settings } from '../support/settings.ts'
import { collect, directRequests, route, routedCall } from '../support/stages.ts'
import type { Provider } from '../../lib/providers/provider.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { FitTarget } from '../../lib/dialects/dialect.ts'

const traits = { prefill: false }
const services = {
  models: createModels(settings(), new Set(['openai'])),
  providers: new Map([['openai', { ...provider('openai'), traits }]])
}
const request: ChatInput = { model: 'openai/gpt-5', messages: [] }

t.test('the request is fitted when a route is tried, with the traits of its provider and model', async t => {
  const call = routedCall(request, { context: 'as the caller wrote it' })
  const seen: Array<readonly [FitTarget, string]> = []
  const fit = (given: ChatInput, target: FitTarget, context: string): ChatInput => {
    seen.push([target, context])
    return { ...given, max_completion_tokens: 7 }
  }
  const [fitted] = await collect(fitRoutes<string>(services, { fit })(once(call)))
  t.same(seen, [], 'not before a route is tried')
  const chosen = { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' }
  t.same(
    fitted?.fit?.({ ...request, n: 2 }, chosen),
    { request: { ...request, n: 2, max_completion_tokens: 7 } },
    'the request of that moment'
  )
  t.match(seen, [
    [{ route: chosen, provider: traits, model: { id: 'openai/gpt-5' } }, 'as the caller wrote it']
  ])
})

t.test('an unknown provider and model have no traits', async t => {
  let seen: unknown
  const [fitted] = await collect(
    fitRoutes(services, {
      fit: (given, target) => {
        seen = target
        return given
      }
    })(once(routedCall(request)))
  )
  fitted?.fit?.(request, route)
  t.match(seen, { route, provider: {}, model: undefined })
})

t.test(
  'a direct request is built from the call, or from a copy if the request has changed since',
  async t => {
    const call = routedCall(request)
    const seen: unknown[] = []
    const directRequest = (given: { readonly request: ChatInput }): undefined => {
      seen.push(given === call ? 'the call' : given.request)
    }
    const dialect = { direct: directRequests({ request: directRequest }) }
    // nothing else of it is read
    const direct: Provider = {
      ...provider('openai'),
      adapters: { chat: { directDialects: ['messages'] } as never }
    }
    const providers = new Map([['openai', direct]])
    const [fitted] = await collect(fitRoutes({ ...services, providers }, dialect)(once(call)))
    const chosen = { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' }
    fitted?.fit?.(request, chosen)
    fitted?.fit?.({ ...request, n: 2 }, chosen)
    t.same(seen, ['the call', { ...request, n: 2 }])
    t.equal(call.request, request)
  }
)

t.test('a limit above what the model can write is lowered and reported', async t => {
  const chosen = { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' }
  for (const [fields, expected] of [
    [{ max_completion_tokens: 10_000_000 }, 128_000],
    [{ max_tokens: 10_000_000 }, 128_000],
    [{ max_completion_tokens: 128_000 }, undefined],
    [{}, undefined]
  ] as const) {
    const call = routedCall({ ...request, ...fields })
    const [fitted] = await collect(fitRoutes(services, {})(once(call)))
    t.match(fitted?.fit?.(call.request, chosen), {
      request:
        expected === undefined ? call.request : { max_completion_tokens: expected, max_tokens: undefined }
    })
    t.equal(call.record.request.maxTokens, expected, JSON.stringify(fields))
    t.equal(fitted?.fit?.(call.request, route)?.request, call.request, 'of another model nothing is known')
  }
})
