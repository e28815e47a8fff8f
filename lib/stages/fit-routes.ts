import { withMaxTokens } from '../chat/max-tokens.ts'
import { contextOf, copyCall, updateCall, type RoutedCall } from '../core/call.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import { noteIgnored, type RequestFacts } from '../core/record.ts'
import { accountDigest } from '../providers/credential.ts'
import { speaksDialect } from '../providers/speaks-dialect.ts'
import { lostReasoning } from '../providers/lost-reasoning.ts'
import type { ChatInput } from '../chat/input.ts'
import type { FitOptions, FittedRequest } from '../core/direct-request.ts'
import type { ModelEntry } from '../core/model.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Route } from '../core/route.ts'
import type { Services } from '../services.ts'

/**
 * Fits the request to each route when the route is tried: one call in, one out. A limit above the model's
 * maximum output is lowered. A provider that speaks the caller's dialect gets the caller's own text.
 * Reasoning that the provider cannot read is reported as ignored.
 */
export function fitRoutes<C> (
  { models, providers }: Pick<Services, 'models' | 'providers'>,
  { fit, direct }: Pick<Dialect<never, C>, 'fit' | 'direct'>,
  capability: 'chat' | 'tokenCount' = 'chat'
): Stage<RoutedCall<ChatInput>> {
  return map(call => {
    const context = contextOf<C>(call)
    return updateCall(call, {
      fit: (
        given: ChatInput,
        route: Route,
        { credentialIndex, isTranslated = false, notes = call.record.request }: FitOptions = {}
      ): FittedRequest<ChatInput> => {
        const model = models.find(route.modelId)
        const request = withinModel(given, model, notes)
        const provider = providers.get(route.providerId)
        const account = (): string =>
          provider === undefined ? '' : accountDigest(provider, call.providerKey, credentialIndex)
        const target = {
          route,
          provider: provider?.traits ?? {},
          quirks: provider?.quirks,
          model,
          account,
          onIgnored: (field: string) => noteIgnored(notes, field)
        }
        const directRequest =
          direct !== undefined && !isTranslated && speaksDialect(provider, direct.dialect, capability)
            ? direct.request(request === call.request ? call : copyCall(call, { request }), target, context)
            : undefined
        if (provider !== undefined && request.messages.some(({ role }) => role === 'assistant')) {
          const hasAccount = (digest: string): boolean => digest === account()
          const reader = { provider, route, direct: directRequest?.dialect, hasAccount }
          for (const field of lostReasoning(request, reader)) noteIgnored(notes, field)
        }
        return directRequest === undefined
          ? { request: fit?.(request, target, context) ?? request }
          : { request, direct: directRequest }
      }
    })
  })
}

/** Providers refuse more tokens than their model can generate. */
function withinModel (
  request: ChatInput,
  model: ModelEntry | undefined,
  notes: Pick<RequestFacts, 'maxTokens'>
): ChatInput {
  const limit = model?.capabilities['output_token_limit']
  const wanted = request.max_completion_tokens ?? request.max_tokens
  if (typeof limit !== 'number' || wanted === undefined || wanted <= limit) return request
  notes.maxTokens = limit
  return withMaxTokens(request, limit)
}
