import { refine, type RoutedCall } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { withoutEntry } from './generation-fields.ts'
import type { ChatInput } from './input.ts'

/** Entries of `generation_config` by which Google adds log probabilities. */
const googleNames = ['responseLogprobs', 'logprobs']

/**
 * Returns a call whose answer is text alone, of which all can be changed: it asks for no log probabilities,
 * whatever the settings of its model say.
 *
 * @throws GatewayError `unsupported_parameter` for a call that wants a spoken answer
 */
export function asTextAnswer<R extends ChatInput> (call: RoutedCall<R>): RoutedCall<R> {
  const { request, routes } = call
  if (request.modalities?.includes('audio') === true) {
    throw new GatewayError('unsupported_parameter', {
      param: 'modalities',
      message:
        'Audio output is not available because a stage of this gateway inspects answers. Request text only.'
    })
  }
  const config = request.generation_config ?? {}
  const plainConfig = googleNames.reduce((rest, name) => withoutEntry(rest, name), config)
  const inConfig = Object.keys(plainConfig).length < Object.keys(config).length
  if (
    request.logprobs !== true &&
    !inConfig &&
    !routes.some(({ settings }) => settings?.['logprobs'] === true)
  ) {
    return call
  }
  const { top_logprobs: _, ...rest } = request
  const changed = {
    ...rest,
    logprobs: false,
    ...inConfig && { generation_config: plainConfig }
  }
  return refine(call, { request: changed as R }) // the same fields but for these
}
