/** The request for embeddings that adapters get. */

import { GatewayError } from '../core/errors.ts'
import { updateCall, type ValidCall } from '../core/call.ts'
import type { EmbeddingInput, EmbeddingsRequest } from '../../schemas/embeddings.ts'

/** Returns the inputs one by one: texts, or lists of tokens. */
export function inputsOf (input: EmbeddingInput): readonly string[] | ReadonlyArray<readonly number[]> {
  if (typeof input === 'string') return [input]
  return isTokens(input) ? [input] : input
}

/** Counts the vectors an input asks for. */
export function countInputs (input: EmbeddingInput): number {
  return typeof input === 'string' || isTokens(input) ? 1 : input.length
}

/** By the schema, all items of a list have the type of the first. */
function isTokens (input: Exclude<EmbeddingInput, string>): input is number[] {
  return typeof input[0] === 'number'
}

/**
 * Passes a call on if some model may answer it, with only the fields that have a meaning here (`stream` has
 * none).
 *
 * @throws GatewayError `invalid_value` for an empty text in a list, and for a list of models
 */
export function embeddingsInput (call: ValidCall<EmbeddingsRequest>): ValidCall<EmbeddingsRequest> {
  const { input, model, encoding_format: form, dimensions, user } = call.request
  if (Array.isArray(model) && model.length > 1) throw severalModels()
  const empty = Array.isArray(input) ? input.findIndex(item => item === '') : -1
  if (empty !== -1) {
    throw new GatewayError('invalid_value', {
      message: `The text at index ${empty} of \`input\` is empty.`,
      param: 'input'
    })
  }
  const request: EmbeddingsRequest = {
    input,
    model,
    ...form !== undefined && { encoding_format: form },
    ...dimensions !== undefined && { dimensions },
    ...user !== undefined && { user }
  }
  return updateCall(call, { request })
}

/** Explains why the gateway does not choose the model for vectors. */
export function severalModels (): GatewayError {
  return new GatewayError('invalid_value', {
    message: 'Send one model: embeddings of different models cannot be compared, ' +
      'so another model cannot replace it.',
    param: 'model'
  })
}
