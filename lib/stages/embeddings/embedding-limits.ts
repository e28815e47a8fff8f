/**
 * Checks a request against the chosen model: whether its vectors can be shortened, and how long inputs may
 * be.
 *
 * Both limits come from the catalogue, which also has limits for unknown models.
 */

import { GatewayError } from '../../core/errors.ts'
import { severalModels } from '../../embeddings/input.ts'
import { measureInputs, type Excess, type TokenLimits } from '../../embeddings/measure-inputs.ts'
import { embeddingDefaults } from '../../models/catalogue.ts'
import { map, type Stage } from '../../pipeline/stage.ts'
import type { Route } from '../../core/route.ts'
import { copyCall, type RoutedCall } from '../../core/call.ts'
import type { TokenCounter } from '../../embeddings/token-counter.ts'
import type { Services } from '../../services.ts'
import type { EmbeddingsRequest } from '../../../schemas/embeddings.ts'

type EmbeddingsCall = RoutedCall<EmbeddingsRequest>

/**
 * Checks the size of the inputs: one call in, one out, with the routes whose model accepts the request.
 *
 * @throws GatewayError when none does, with the error of the first: `unsupported_parameter` on `dimensions`,
 *   `context_length_exceeded` on `input`; `invalid_value` on `model` for a configured route that stands for
 *   several models
 */
export function embeddingLimits ({
  tokenCounter: tokens
}: Pick<Services, 'tokenCounter'>): Stage<EmbeddingsCall> {
  return map(async call => {
    if (areSeveral(call.routes)) throw severalModels()
    const suitable: Route[] = []
    let refusal: GatewayError | undefined
    for (const route of call.routes) {
      const fault = await refusalOf(route, call, tokens)
      if (fault === undefined) suitable.push(route)
      else refusal ??= fault
    }
    const [first, ...others] = suitable
    if (first === undefined) throw refusal
    return refusal === undefined ? call : copyCall(call, { routes: [first, ...others] as const })
  })
}

/**
 * Models known to the catalogue are different if their names are. For unknown models, the operator may know
 * that two names mean the same model.
 */
function areSeveral (routes: readonly Route[]): boolean {
  const limited = routes.filter(({ traits }) => traits?.embeddings?.dimensions !== undefined)
  return limited.some(({ model }) => model !== limited[0]?.model)
}

async function refusalOf (
  { modelId, traits }: Route, { key, request, signal }: EmbeddingsCall, counter: TokenCounter
): Promise<GatewayError | undefined> {
  const {
    supportsDimensions,
    tokensPerInput: perInput,
    tokensPerRequest: perRequest
  } = { ...embeddingDefaults, ...traits?.embeddings }
  if (request.dimensions !== undefined && supportsDimensions === false) {
    return new GatewayError('unsupported_parameter', {
      message: `The vectors of \`${modelId}\` have a fixed length. Leave out \`dimensions\`.`, param: 'dimensions'
    })
  }
  const limits = { perInput, perRequest }
  const measured = measureInputs(request.input, limits)
  switch (measured.verdict) {
    case 'within': return undefined
    case 'beyond': return tooLong(measured.excess, limits)
    case 'unknown': {
      const excess = await counter.excess({ texts: measured.toCount, limits }, key.id, signal)
      return excess === undefined ? undefined : tooLong(excess, limits)
    }
  }
}

function tooLong (excess: Excess, { perInput, perRequest }: TokenLimits): GatewayError {
  const message = excess.part === 'input'
    ? `The input at index ${excess.index} is longer than the ${perInput} tokens this model accepts.`
    : `The inputs are longer than the ${perRequest} tokens one request may contain.`
  return new GatewayError('context_length_exceeded', { message, param: 'input' })
}
