import { updateCall, type RoutedCall } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { noteIgnored } from '../core/record.ts'
import { objectOf, type JsonObject } from '../json/type-guards.ts'
import { withoutEntry } from './generation-fields.ts'
import { mergeSettings } from './merge-settings.ts'
import type { ChatInput } from './input.ts'
import type { Route } from '../core/route.ts'

/** Keys of `generation_config` with which Google adds log probabilities. */
const googleNames = ['responseLogprobs', 'logprobs']

/**
 * Removes log probabilities from the request and from the settings of its models, so that the answer is only
 * text, which guards can rewrite. The record lists the request's fields as ignored.
 *
 * @throws GatewayError `unsupported_parameter` if audio output is requested
 */
export function asTextAnswer<R extends ChatInput> (call: RoutedCall<R>): RoutedCall<R> {
  const { request, routes: [first, ...others] } = call
  const sent = call.routes.map(({ settings }) => mergeSettings<ChatInput>(request, settings))
  if (sent.some(({ modalities }) => modalities?.includes('audio') === true)) {
    throw new GatewayError('unsupported_parameter', {
      param: 'modalities',
      message:
        'Audio output is not available because a guard of this gateway inspects answers. Request text only.'
    })
  }
  if (!sent.some(asksForLogprobs)) return call
  if (asksForLogprobs(request)) noteIgnored(call.record.request, 'logprobs')
  return updateCall(call, {
    // the same request without log probabilities
    request: { ...withoutLogprobs(request), logprobs: false } as R,
    routes: [asPlainRoute(first), ...others.map(asPlainRoute)] as const
  })
}

interface TokenFields {
  readonly logprobs?: unknown
  readonly top_logprobs?: unknown
  readonly generation_config?: unknown
}

function asksForLogprobs ({ logprobs, generation_config: config = {} }: ChatInput): boolean {
  return logprobs === true || Object.keys(plainConfig(config)).length < Object.keys(config).length
}

function asPlainRoute (route: Route): Route {
  return route.settings === undefined ? route : { ...route, settings: withoutLogprobs(route.settings) }
}

function withoutLogprobs (
  { logprobs: _, top_logprobs: __, generation_config: config, ...rest }: TokenFields
): Record<string, unknown> {
  return { ...rest, ...config !== undefined && { generation_config: plainConfig(config) } }
}

function plainConfig (config: unknown): JsonObject {
  return googleNames.reduce((rest, name) => withoutEntry(rest, name), objectOf(config) ?? {})
}
